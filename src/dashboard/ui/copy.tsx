import { Button } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

type Outcome = 'copied' | 'refused';

const labels = { copied: 'Copied', refused: 'Press Ctrl+C' };

/** How long the outcome is shown, in ms. */
const SHOWN_MS = 2_000;

interface CopyProps {
  value: string;
  what: string;
}

/**
 * Copies `value`, and says so for a moment. Where the browser lets no page copy, as over plain HTTP from another
 * machine, the element before it is selected, for the keyboard to copy.
 */
function Copy({ value, what }: CopyProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [outcome, setOutcome] = useState<Outcome>();
  useEffect(() => {
    if (outcome === undefined) return;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
      setOutcome('copied');
    } catch {
      const shown = button.current?.previousElementSibling;
      if (shown) getSelection()?.selectAllChildren(shown);
      setOutcome('refused');
    }
  };
  const label = outcome === undefined ? 'Copy' : labels[outcome];
  return (
    <Button
      ref={button}
      size="compact-xs"
      variant="subtle"
      data-refused={outcome === 'refused' || undefined}
      onClick={copy}
      aria-label={outcome === undefined ? `Copy ${what}` : `${label}: ${what}`}
    >
      {label}
    </Button>
  );
}

/** A long hex value, its middle left out where there is no room; copied whole. */
export function Hex({ value, what }: CopyProps) {
  return (
    <span className="hex">
      <code title={value}>
        <span className="hex-full">{value}</span>
        <span className="hex-short">{shorten(value)}</span>
      </code>
      <Copy value={value} what={what} />
    </span>
  );
}

/** First and last digits of a hash or address. */
export function shorten(value: string): string {
  return value.length <= 16 ? value : `${value.slice(0, 8)}…${value.slice(-6)}`;
}

/** A command for a terminal. */
export function Command({ value, what }: CopyProps) {
  return (
    <div className="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <pre tabIndex={0}>{value}</pre>
      <Copy value={value} what={what} />
    </div>
  );
}
