"""Nets: architecture, weights on disk, ONNX export, int8, and the nets that are shipped."""
