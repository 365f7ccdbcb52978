// `svc config`: the profiles of this machine.
import { SvcError } from '../../base/svc-error.ts';
import { showTime } from '../output/table.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';

export const configCommands: readonly CommandSpec[] = [
  {
    path: 'config list',
    summary: 'List the profiles',
    examples: ['svc config list'],
    run: listProfiles,
  },
  {
    path: 'config use',
    summary: 'Choose the default profile',
    arguments: [{ syntax: '<name>', summary: 'name of the profile', completes: 'profile' }],
    examples: ['svc config use ops'],
    run: useProfile,
  },
  {
    path: 'config remove',
    summary:
      'Remove a profile and its session from this machine. The session stays valid on the service: to end it, run svc logout first',
    arguments: [{ syntax: '<name>', summary: 'name of the profile', completes: 'profile' }],
    examples: ['svc config remove ops'],
    run: removeProfile,
  },
  {
    path: 'config path',
    summary: 'Print the path of the configuration file',
    examples: ['svc config path'],
    run: printPath,
  },
];

/** Never shows sessions. */
async function listProfiles({ config, output }: Context): Promise<void> {
  const { current, profiles } = (await config()).read();
  const items = Object.entries(profiles).map(([name, { url, wallet, session, expires_at }]) => ({
    name,
    current: name === current,
    url,
    wallet,
    signed_in_until: session === null ? null : expires_at,
  }));
  await output.table({ items }, items, [
    { title: 'current', value: (p) => (p.current ? 'yes' : 'no') },
    { title: 'name', value: (p) => p.name },
    { title: 'service', value: (p) => p.url },
    { title: 'wallet', value: (p) => p.wallet },
    {
      title: 'signed in until',
      value: (p) => p.signed_in_until,
      shown: (p) => showTime(p.signed_in_until),
    },
  ]);
  if (items.length === 0) output.note('No profiles. Create one with svc login URL.');
}

async function useProfile(context: Context, { name }: { name: string }): Promise<void> {
  const { file } = await knownProfile(context, name);
  await file.update((config) => ({ ...config, current: name }));
  context.output.note(`${name} is now the default profile.`);
  if (context.output.asksJson) context.output.json({ current: name });
}

async function removeProfile(context: Context, { name }: { name: string }): Promise<void> {
  const { file, profile } = await knownProfile(context, name);
  await file.update(({ current, profiles: { [name]: _, ...profiles } }) => ({
    current: current === name ? null : current,
    profiles,
  }));
  if (profile?.session) {
    context.output.note(
      'Its session stays valid until it expires; end it with svc sessions revoke.',
    );
  }
  if (context.output.asksJson) context.output.json({ removed: name });
}

async function printPath({ config, output }: Context): Promise<void> {
  const { path } = await config();
  if (output.asksJson) return output.json({ path });
  output.line(path);
}

async function knownProfile({ config }: Context, name: string) {
  const file = await config();
  const { profiles } = file.read();
  if (Object.hasOwn(profiles, name)) return { file, profile: profiles[name] };
  throw new SvcError('not_found', `There is no profile ${name}.`, {
    hint: 'List them with svc config list.',
  });
}
