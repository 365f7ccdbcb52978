// `svc sessions` and `svc logout`: sessions of the account.
import type { Client } from '../../client/client.ts';
import { pickOne } from '../input/find.ts';
import { readPages } from '../output/pages.ts';
import { showTime } from '../output/table.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Config } from '../program/config-file.ts';
import type { Context } from '../program/context.ts';
import type { NamedProfile } from '../program/profiles.ts';

export const sessionCommands: readonly CommandSpec[] = [
  {
    path: 'sessions list',
    summary: 'List the open sessions of the account, newest first',
    examples: ['svc sessions list'],
    run: listSessions,
  },
  {
    path: 'sessions revoke',
    summary: 'End a session at once',
    arguments: [{ syntax: '<session>', summary: 'id, or start of an id' }],
    examples: ['svc sessions revoke 01a1fa88-6262-702f-af77-0aaec0d1b17b'],
    run: revokeSession,
  },
];

async function listSessions({ session, output }: Context): Promise<void> {
  const { client } = await session();
  const page = await allSessions(client);
  await output.table(page, page.items, [
    { title: 'id', value: (s) => s.id },
    { title: 'opened with', value: (s) => s.signed_in_with },
    { title: 'since', value: (s) => s.created_at, shown: (s) => showTime(s.created_at) },
    { title: 'until', value: (s) => s.expires_at, shown: (s) => showTime(s.expires_at) },
    { title: 'this one', value: (s) => (s.current ? 'yes' : 'no') },
  ]);
}

async function revokeSession(
  { session, output }: Context,
  { session: text }: { session: string },
): Promise<void> {
  const { client } = await session();
  const { id, current } = pickOne('session', text, (await allSessions(client)).items);
  const { body } = await client.call('revokeSession', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(current ? 'Ended the current session.' : `Ended the session ${id}.`);
}

function allSessions(client: Client) {
  return readPages((query) => client.call('listSessions', { query }));
}

export const logoutCommand: CommandSpec = {
  path: 'logout',
  summary: 'End the session here and on the service',
  examples: ['svc logout', 'svc logout --profile ops'],
  run: logout,
};

/** Forgets the session only after the service has ended it. */
async function logout({ config, target, client, output }: Context): Promise<void> {
  const { url, profile } = await target();
  if (profile?.session) {
    await client(url, profile.session).call('signOut');
    const file = await config();
    await file.update((now) => withoutSession(now, profile));
    output.note(`Signed out of ${url}.`);
  } else {
    output.note(`You were not signed in to ${url}.`);
  }
  if (output.asksJson) output.json({ signed_out: true });
}

/** Leaves the configuration as it is if the profile was removed or signed in again in the meantime. */
function withoutSession(config: Config, { name, session }: NamedProfile): Config {
  const profile = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  if (profile === undefined || profile.session !== session) return config;
  const ended = { ...profile, session: null, expires_at: null };
  return { ...config, profiles: { ...config.profiles, [name]: ended } };
}
