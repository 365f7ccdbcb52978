import { Button, CopyButton } from '@mantine/core';

/** Copies `value`; says so for a moment. */
export function Copy({
  value,
  what,
  primary = false,
}: {
  value: string;
  what: string;
  primary?: boolean;
}) {
  return (
    <CopyButton value={value} timeout={2000}>
      {({ copied, copy }) => (
        <Button
          size="compact-xs"
          variant={primary ? 'filled' : 'default'}
          onClick={copy}
          aria-label={copied ? `Copied ${what}` : `Copy ${what}`}
        >
          {copied ? 'Copied' : 'Copy'}
        </Button>
      )}
    </CopyButton>
  );
}

interface HexProps {
  value: string;
  what: string;
}

/** A long hex value, its middle left out where there is no room; copied whole. */
export function Hex({ value, what }: HexProps) {
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
export function Command({ value, what }: HexProps) {
  return (
    <div className="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <pre tabIndex={0}>{value}</pre>
      <Copy value={value} what={what} />
    </div>
  );
}
