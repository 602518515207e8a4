export function NetsView() {
  return <section class="view" aria-label="Nets" />;
}
