export function TrainView() {
  return <section class="view" aria-label="Train" />;
}
