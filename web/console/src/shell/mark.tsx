/** The house's mark: a stroke and one point behind it. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect class="mark-ground" width="32" height="32" rx="7" />
      <path class="mark-stroke" d="M9 8v16M9 17c1.6-3 8-4.6 8 1v6" />
      <circle class="mark-point" cx="23" cy="22.6" r="2.3" />
    </svg>
  );
}
