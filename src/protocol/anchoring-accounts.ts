// The list of a service's anchoring accounts: its schema, and the texts that the accounts sign (EIP-191).
import { type Static, Type } from 'typebox';
import { Address, Closed, Decimal, Nullable } from './fields.ts';
import { Kid, PublicKey } from './identity.ts';

const Signature = Type.String({
  pattern: '^0x[0-9a-f]{130}$',
  description: 'a personal_sign signature (EIP-191): 65 bytes as hex',
});

/** The key that signs promises while the account is in use (docs/statements.md). `kid` is its thumbprint. */
const PromiseKey = Closed({ kid: Kid, public_key: PublicKey });

/**
 * `last_block` is null while the account is in use. `signature` is null if only the origin states the account. Without
 * `promise_key`, the account never promised an anchor.
 */
const ListedAccount = Closed({
  chain_id: Type.Integer({ minimum: 1 }),
  address: Address,
  first_block: Decimal,
  last_block: Nullable(Decimal),
  signature: Nullable(Signature),
  promise_key: Type.Optional(PromiseKey),
});

/** The list of `GET /.well-known/svc-anchors.json`. Only accounts in use sign it. */
export const AnchorsList = Closed({
  format: Type.Literal('svc-anchors/1'),
  origin: Type.String({ description: 'the public URL that the server is configured with' }),
  sequence: Type.Integer({
    minimum: 0,
    description: 'increases with every change; 0 before the first account',
  }),
  accounts: Type.Array(ListedAccount),
  signatures: Type.Array(Closed({ address: Address, signature: Signature })),
});

export type ListedAccount = Static<typeof ListedAccount>;
export type AnchorsList = Static<typeof AnchorsList>;

/** The text that an account signs once, at first use: the facts that never change. */
export function accountText(
  origin: string,
  { chain_id, address, first_block }: Pick<ListedAccount, 'chain_id' | 'address' | 'first_block'>,
): string {
  return [
    'This account anchors proofs for the svc service at this origin.',
    `Origin: ${origin}`,
    `Chain: ${chain_id}`,
    `Account: ${address.toLowerCase()}`,
    `First block: ${first_block}`,
  ].join('\n');
}

/** The text of a whole list, which an account in it signs. */
export function listText({
  origin,
  sequence,
  accounts,
}: Pick<AnchorsList, 'origin' | 'sequence' | 'accounts'>): string {
  const lines = accounts.map(
    ({ chain_id, address, first_block, last_block, promise_key: key }) =>
      `Chain ${chain_id}, account ${address.toLowerCase()}, blocks ${first_block} to ${last_block ?? 'now'}${
        key === undefined ? '' : `, promises signed by ${key.kid}`
      }`,
  );
  return [
    'These accounts anchor proofs for the svc service at this origin.',
    `Origin: ${origin}`,
    `Sequence: ${sequence}`,
    ...lines.toSorted(),
  ].join('\n');
}
