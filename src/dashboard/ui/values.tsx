// Values to copy or save: hex, commands and JSON documents.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { chainQuery } from '../queries.ts';

interface CopyProps {
  value: string;
  what: string;
}

/** A long hex value that can be copied. Its middle is left out on narrow screens. */
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

/** `1 robot`, `2 robots` */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** First and last digits of a hash or address. */
export function shorten(value: string): string {
  return value.length <= 16 ? value : `${value.slice(0, 8)}…${value.slice(-6)}`;
}

/** A command for a terminal, with a copy button. */
export function Command({ value, what }: CopyProps) {
  return (
    <div className="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <pre tabIndex={0}>{value}</pre>
      <Copy value={value} what={what} />
    </div>
  );
}

/** The `svc verify` command for `subject`, a file or a hash. This service names the accounts that may have sent it. */
export function VerifyCommand({ subject }: { subject: string }) {
  const { data: chain } = useQuery(chainQuery);
  const rpcUrl = chain?.params.rpcUrls[0];
  const service = window.location.origin;
  return (
    <>
      <Command
        value={`svc verify ${subject}${rpcUrl ? ` --rpc-url ${rpcUrl}` : ''} --url ${service}`}
        what="command"
      />
      {chain && !rpcUrl && (
        <p className="hint">
          So it reports what this service states. To check it against the chain, add{' '}
          <code>--rpc-url</code> with your endpoint of {chain.name}.
        </p>
      )}
    </>
  );
}

/** A JSON document that scrolls, also by keyboard. */
export function Json({ value, what }: { value: unknown; what: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section className="json" aria-label={what} tabIndex={0}>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </section>
  );
}

/** Hands a document to the reader as a file. */
export function saveJson(name: string, document: unknown): void {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  saveFile(name, new Blob([text], { type: 'application/json' }));
}

export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = Object.assign(window.document.createElement('a'), { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

type Outcome = 'copied' | 'refused';

const labels = { copied: 'Copied', refused: 'Press Ctrl+C' };

/** How long the outcome of a copy is shown, in ms. */
const SHOWN_MS = 2_000;

/**
 * Copies `value` and confirms it briefly. If the browser does not allow copying, as over plain HTTP from another
 * machine, it selects the element before the button, to be copied with the keyboard.
 */
export function Copy({ value, what, label: name = 'Copy' }: CopyProps & { label?: string }) {
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
  const label = outcome === undefined ? name : labels[outcome];
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
