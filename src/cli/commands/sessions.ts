// `svc sessions` and `svc logout`: sessions of the account.

import { type Context, warnOfToken } from '../context.ts';
import { pickOne } from '../input/find.ts';
import { readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Config } from '../program/config-file.ts';
import type { NamedProfile } from '../program/profiles.ts';

export const sessionCommands: readonly CommandSpec[] = [
  {
    path: 'sessions list',
    summary: 'List the open sessions of the account, newest first',
    examples: ['svc sessions list'],
    async run(context) {
      const page = await allSessions(context);
      await context.output.table(page, page.items, [
        { title: 'id', value: (s) => s.id },
        { title: 'opened with', value: (s) => s.signed_in_with },
        { title: 'since', value: (s) => s.created_at, isTime: true },
        { title: 'until', value: (s) => s.expires_at, isTime: true },
        { title: 'this one', value: (s) => (s.current ? 'yes' : 'no') },
      ]);
    },
  },
  {
    path: 'sessions revoke',
    summary: 'End a session immediately',
    arguments: [{ syntax: '<session>', summary: 'id, or start of an id' }],
    examples: ['svc sessions revoke 01a1fa88-6262-702f-af77-0aaec0d1b17b'],
    async run(context, { session: text }: { session: string }) {
      const { id, current } = pickOne('session', text, (await allSessions(context)).items);
      const { body } = await context.call('revokeSession', { params: { id } });
      context.output.done(
        body,
        current ? 'Ended the current session.' : `Ended the session ${id}.`,
      );
    },
  },
];

function allSessions({ call }: Context) {
  return readPages((query) => call('listSessions', { query }));
}

export const logoutCommand: CommandSpec = {
  path: 'logout',
  summary: 'End the session on the service, and delete it from this machine',
  examples: ['svc logout', 'svc logout --profile ops'],
  /** Forgets the session only after the service has ended it. */
  async run(context) {
    const { config, target, client, output } = context;
    const { url, profile } = await target();
    if (profile?.session) {
      await client(url, profile.session).call('signOut');
      await (await config()).update((now) => withoutSession(now, profile));
    }
    const outcome = profile?.session ? 'Signed out of' : 'You were not signed in to';
    output.done({ signed_out: true }, `${outcome} ${url}.`);
    warnOfToken(context);
  },
};

/** Leaves the configuration as it is if the profile was removed or signed in again in the meantime. */
function withoutSession(config: Config, { name, session }: NamedProfile): Config {
  const profile = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  if (profile === undefined || profile.session !== session) return config;
  const ended = { ...profile, session: null, expires_at: null };
  return { ...config, profiles: { ...config.profiles, [name]: ended } };
}
