// The key that a robot signs its work with, and the button by which the owner's wallet puts it into use.
import { Button, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { grantText } from '../../../proof/statements/key-text.ts';
import { algorithmOf, thumbprintOf } from '../../../proof/statements/public-key.ts';
import type { PublicKey, SigningIdentity } from '../../../protocol/identity.ts';
import { ask } from '../../api.ts';
import { reading } from '../../queries.ts';
import { Card, Fact, HexFact } from '../../ui/card.tsx';
import { Problem } from '../../ui/states.tsx';
import { dateAndTime } from '../../ui/time.tsx';
import { signText } from '../../wallet/sign-in.ts';
import { useUsedWallet, WalletError } from '../../wallet/wallets.ts';

/** Nothing for a robot that has no key and proposes none. */
export default function SigningCard({ robotId }: { robotId: string }) {
  const params = { id: robotId };
  const query = useQuery(
    reading(['robots', robotId, 'identity'], 'GET /api/v1/robots/:id/identity', { params }),
  );
  const identity = query.data?.identity;
  const key = identity?.keys.at(-1);
  if (!identity || (key === undefined && identity.proposed_key === null)) return null;
  return (
    <Card title="Signing key">
      {key && (
        <dl className="facts">
          <HexFact name="Key" value={thumbprintOf(key.public_key)} what="thumbprint" />
          <Fact name="In use since">{dateAndTime(key.grant.signed_at)}</Fact>
          {key.revocation && (
            <Fact name="Out of use since">{dateAndTime(key.revocation.signed_at)}</Fact>
          )}
          <Fact name="Statements">{identity.next_number - 1}</Fact>
        </dl>
      )}
      {identity.proposed_key && <Proposal identity={identity} publicKey={identity.proposed_key} />}
    </Card>
  );
}

function Proposal({ identity, publicKey }: { identity: SigningIdentity; publicKey: PublicKey }) {
  const wallet = useUsedWallet();
  const thumbprint = thumbprintOf(publicKey);
  const sign = useMutation({
    async mutationFn() {
      if (identity.origin !== location.origin) {
        throw new WalletError(`Open this page at ${identity.origin}, and sign there.`);
      }
      const owner = identity.wallet.toLowerCase() as `0x${string}`; // By the schema.
      const text = grantText({
        origin: identity.origin,
        wallet: owner,
        robot_id: identity.robot_id,
        algorithm: algorithmOf(publicKey),
        thumbprint,
        first_number: identity.next_number,
        predecessor: identity.keys.at(-1)?.kid ?? null,
      });
      const body = { text, signature: await signText(wallet, owner, text) };
      await ask('POST /api/v1/robots/:id/identity', { params: { id: identity.robot_id }, body });
    },
  });
  return (
    <>
      <Text mb="sm">
        The robot proposes a key. Compare it with <code>svc-agent identity show</code> on the robot.
        Once you sign it, every task of this robot from number {identity.next_number} on needs the
        signature of this key{identity.keys.length > 0 && ', which replaces the one before'}.
      </Text>
      <dl className="facts">
        <HexFact name="Proposed key" value={thumbprint} what="thumbprint" />
      </dl>
      <Button mt="sm" loading={sign.isPending} onClick={() => sign.mutate()}>
        Sign key
      </Button>
      <Problem of={sign} />
    </>
  );
}
