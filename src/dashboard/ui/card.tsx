// A card with its title, and a fact in a list of facts.
import { type ReactNode, useId } from 'react';
import type { Anchor } from '../../protocol/resources.ts';
import { Hex } from './values.tsx';

interface CardProps {
  title: string;
  /** Shown next to the title. */
  actions?: ReactNode;
  children: ReactNode;
}

export function Card({ title, actions, children }: CardProps) {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <div className="card-head">
        <h2 className="card-title" id={id}>
          {title}
        </h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** A card that shows its title alone until it is opened. */
export function Fold({ title, isOpen = false, children }: FoldProps) {
  return (
    <details className="card fold" open={isOpen}>
      <summary className="card-title">{title}</summary>
      {children}
    </details>
  );
}

interface FoldProps {
  title: string;
  isOpen?: boolean;
  children: ReactNode;
}

/** A fact with a long hex value. `what` names it for its copy button. */
export function HexFact({ name, value, what }: { name: string; value: string; what: string }) {
  return (
    <Fact name={name}>
      <Hex value={value} what={what} />
    </Fact>
  );
}

/** The transaction of an anchor; nothing before there is one. */
export function TransactionFact({ anchor }: { anchor: Pick<Anchor, 'tx_hash' | 'explorer_url'> }) {
  const { tx_hash, explorer_url } = anchor;
  if (tx_hash === null) return null;
  return (
    <Fact name="Transaction">
      <Hex value={tx_hash} what="transaction hash" />{' '}
      {explorer_url && <a href={explorer_url}>Open in the explorer</a>}
    </Fact>
  );
}

/** Name and value, inside `<dl className="facts">`. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
