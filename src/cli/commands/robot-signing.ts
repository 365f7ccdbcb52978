// `svc robots sign-key`, `revoke-signing-key`, `verify` and `export`: keys that robots sign with, and their statements.
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { JsonValue } from '../../proof/json-value.ts';
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
      const { algorithmOf, thumbprintOf } = await import('../../proof/statements/public-key.ts');
      const { grantText } = await import('../../proof/statements/key-text.ts');
      const thumbprint = thumbprintOf(key);
      const replaced = keys.length === 0 ? '' : `, which replaces ${keys.length} before it`;
      const consequence = `From number ${next_number} on, ${output.quote(robot.name)} must sign every task with the key ${thumbprint}${replaced}. Compare it with svc-agent identity show on the robot.`;
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
      const { revocationText } = await import('../../proof/statements/key-text.ts');
      const signed = await sign(context, wallet, input, {
        robot,
        text: revocationText({ ...ownerOf(identity, wallet), kid: key.kid, last }),
      });
      output.done(signed, `The key of ${output.quote(robot.name)} is out of use.`);
    },
  },
  {
    path: 'robots verify',
    summary: 'Verify that no statement of a robot is missing, forked or invalid',
    details:
      'svc checks every signature, number and hash, and exits with 11 if a statement is missing, with 12 if one start of the agent signed two statements with one number, and with 13 if two starts continued the same statement, for example from a copied disk. Nothing shows that no statement exists after the last one.',
    arguments: [robotArgument],
    options: [
      { flags: '--robot-key <thumbprint>', summary: 'thumbprint of a key that must have signed' },
    ],
    examples: ['svc robots verify hall-robot-1'],
    async run(context, { robot, robotKey }: { robot: string; robotKey?: string }) {
      const found = await findRobot(context, robot);
      // Not what the service says: it is the one that is verified.
      const { profile } = await context.session();
      // A smart-contract wallet cannot be checked here, so a named key takes its place.
      const pins = robotKey === undefined ? { owner: profile?.wallet } : { robotKey };
      const { verifyArchive } = await import('../verify/archive.ts');
      return verifyArchive(context, archiveOf(context, found), pins);
    },
  },
  {
    path: 'robots export',
    summary: 'Write all statements of a robot as JSON lines, for svc verify',
    arguments: [robotArgument],
    examples: [
      'svc robots export hall-robot-1 > hall-robot-1.jsonl',
      'svc verify hall-robot-1.jsonl --owner 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    ],
    async run(context, { robot }: { robot: string }) {
      const { output } = context;
      const lines: JsonValue[] = [];
      for await (const line of archiveOf(context, await findRobot(context, robot))) {
        if (output.asksJson) lines.push(line);
        else output.line(JSON.stringify(line));
      }
      if (output.asksJson) output.json({ lines });
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

/**
 * The lines of the robot's archive: the owner, then each key with its statements. `format` stands first: readers recognize
 * the file by its first bytes.
 */
async function* archiveOf(
  { call, output }: Context,
  { id, name }: Robot,
): AsyncGenerator<JsonValue> {
  const { identity } = (await call('getIdentity', { params: { id } })).body;
  const { origin, wallet, robot_id } = identity;
  if (robot_id !== id) {
    throw new SvcError('unexpected_answer', 'The service sent the keys of another robot.');
  }
  if (identity.keys.length === 0) {
    throw new SvcError('usage', `${output.quote(name)} signs with no key.`, {
      hint: 'Its work is unsigned, so it has no statements. Sign a key with svc robots sign-key.',
    });
  }
  const { ARCHIVE_FORMAT } = await import('../../proof/statements/archive.ts');
  yield { format: ARCHIVE_FORMAT, origin, wallet: wallet.toLowerCase(), robot_id };
  for (const { kid, public_key, grant, revocation } of identity.keys) {
    const { text, signature } = grant;
    const revoked = revocation && { text: revocation.text, signature: revocation.signature };
    yield { public_key, text, signature, revocation: revoked };
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const query = { kid, limit: '200', ...(cursor !== undefined && { cursor }) };
      const { body } = await call('listStatements', { params: { id }, query });
      for (const { received_at: _, ...statement } of body.items) yield statement;
      cursor = body.next_cursor;
    }
  }
}
