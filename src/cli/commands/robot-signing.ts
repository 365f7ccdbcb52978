// `svc robots sign-key` and `revoke-signing-key`: the keys that robots sign their work with.
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import { grantText, revocationText } from '../../proof/statements/key-text.ts';
import { algorithmOf, thumbprintOf } from '../../proof/statements/public-key.ts';
import type { SigningIdentity } from '../../protocol/identity.ts';
import type { Robot } from '../../protocol/resources.ts';
import type { Context } from '../context.ts';
import { findRobot, robotArgument } from '../input/find.ts';
import { readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { keyFileOptions, positive, yesOption } from '../program/options.ts';
import type { KeyFile } from '../sign-in/key-file.ts';
import { ownerSigner } from '../sign-in/owner-signer.ts';

type Choice = Partial<KeyFile> & { robot: string; yes?: boolean };

export const robotSigningCommands: readonly CommandSpec[] = [
  {
    path: 'robots sign-key',
    summary: 'Sign the key that a robot proposes, so that the robot signs its work from then on',
    details:
      'The robot proposes a key with svc-agent identity create. Compare the thumbprint with that of svc-agent identity show on the robot. Your wallet signs a text that names the robot, the key and its first number. From then on the service refuses every task of the robot that has no valid statement. The wallet signs in the terminal, or with the key of --key-file.',
    arguments: [robotArgument],
    options: [...keyFileOptions, yesOption],
    examples: [
      'svc robots sign-key hall-robot-1',
      'svc robots sign-key hall-robot-1 --key-file ~/.keys/ops.json --yes',
    ],
    async run(context, { robot: text, yes = false, ...input }: Choice) {
      const { output } = context;
      const { robot, identity, wallet } = await readIdentity(context, text);
      const { proposed_key: key, keys, next_number } = identity;
      if (key === null) {
        throw new SvcError('usage', `${output.quote(robot.name)} proposes no key.`, {
          hint: 'Run svc-agent identity create on the robot.',
        });
      }
      const thumbprint = thumbprintOf(key);
      const consequence = `From now on, ${output.quote(robot.name)} must sign every task with the key ${thumbprint}. Compare it with svc-agent identity show on the robot.`;
      if (!yes) await (await context.prompt()).confirm(robot.name, consequence);
      const signed = await sign(context, wallet, input, {
        robot,
        text: grantText({
          ...ownerOf(identity, wallet),
          algorithm: algorithmOf(key),
          thumbprint,
          first_number: next_number,
          predecessor: keys.at(-1)?.kid ?? null,
        }),
      });
      output.done(
        signed,
        `${output.quote(robot.name)} signs its work with the key ${thumbprint} from number ${next_number} on.`,
      );
    },
  },
  {
    path: 'robots revoke-signing-key',
    summary: 'Take the key that a robot signs with out of use, for example after a theft',
    details:
      'Your wallet signs a text that names the last statement that you stand by: by default the last one that the service has. Statements that are anchored before this text stay valid. The service refuses every task of the robot until you sign another key.',
    arguments: [robotArgument],
    options: [
      {
        flags: '--last-number <number>',
        summary: 'last statement that you stand by',
        parse: positive,
      },
      { flags: '--none', summary: 'stand by no statement of this key' },
      ...keyFileOptions,
      yesOption,
    ],
    examples: [
      'svc robots revoke-signing-key hall-robot-1',
      'svc robots revoke-signing-key hall-robot-1 --last-number 412',
    ],
    async run(context, { robot: text, yes = false, lastNumber, none, ...input }: Revocation) {
      const { output } = context;
      const { robot, identity, wallet } = await readIdentity(context, text);
      const key = identity.keys.at(-1);
      if (key === undefined || key.revocation !== null) {
        throw new SvcError('usage', `${output.quote(robot.name)} signs with no key.`);
      }
      const last = none
        ? null
        : await lastGood(context, { robot, identity, kid: key.kid }, lastNumber);
      const kept = last === null ? 'no statement' : `statements up to number ${last.number}`;
      const consequence = `${output.quote(robot.name)} can complete no task until you sign another key. You stand by ${kept}.`;
      if (!yes) await (await context.prompt()).confirm(robot.name, consequence);
      const signed = await sign(context, wallet, input, {
        robot,
        text: revocationText({ ...ownerOf(identity, wallet), kid: key.kid, last }),
      });
      output.done(signed, `The key of ${output.quote(robot.name)} is out of use.`);
    },
  },
];

type Revocation = Choice & { lastNumber?: number; none?: true };

/** The identity of the robot, as this account's service states it. Throws `foreign_challenge` for another origin. */
async function readIdentity(context: Context, text: string) {
  const { url } = await context.session();
  const robot = await findRobot(context, text);
  const { identity } = (await context.call('getIdentity', { params: { id: robot.id } })).body;
  const { wallet } = (await context.call('getAccount')).body;
  const { origin } = new URL(url);
  if (identity.origin !== origin || identity.robot_id !== robot.id) {
    throw new SvcError('foreign_challenge', `The text to sign is for ${identity.origin}.`, {
      hint: `This profile uses ${origin}. Use the service's own address.`,
    });
  }
  return { robot, identity, wallet };
}

function ownerOf({ origin, robot_id }: SigningIdentity, wallet: string) {
  return { origin, wallet: wallet.toLowerCase() as Hex, robot_id };
}

async function lastGood(
  { call }: Context,
  { robot, identity, kid }: { robot: Robot; identity: SigningIdentity; kid: string },
  lastNumber: number | undefined,
) {
  const { last } = identity;
  if (lastNumber === undefined || lastNumber === last?.number) {
    return last && { number: last.number, hash: last.signed_hash as Hex };
  }
  const { items } = await readPages((query) =>
    call('listStatements', { params: { id: robot.id }, query: { ...query, kid } }),
  );
  const found = items.find(({ number }) => number === lastNumber);
  if (found === undefined) throw new SvcError('usage', `No statement has number ${lastNumber}.`);
  return { number: found.number, hash: found.signed_hash as Hex };
}

async function sign(
  context: Context,
  wallet: string,
  input: Partial<KeyFile>,
  { robot, text }: { robot: Robot; text: string },
) {
  const signer = await ownerSigner(context, wallet, input);
  const body = { text, signature: await signer.sign(text) };
  return (await context.call('signKeyText', { params: { id: robot.id }, body })).body;
}
