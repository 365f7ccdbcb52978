/** A document as it is, scrolled where it is long, by the keyboard too. */
export function Json({ value, what }: { value: unknown; what: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section className="json" aria-label={what} tabIndex={0}>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </section>
  );
}
