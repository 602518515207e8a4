export function StudyView() {
  return <section class="view" aria-label="Study" />;
}
