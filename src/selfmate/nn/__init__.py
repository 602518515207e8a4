"""Nets: architecture, PyTorch module, weights on disk, ONNX export, int8, and the shipped nets."""
