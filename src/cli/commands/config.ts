// `svc config`: the profiles of this machine.
import { SvcError } from '../../base/svc-error.ts';
import type { Context } from '../context.ts';
import type { CommandSpec } from '../program/command.ts';

export const configCommands: readonly CommandSpec[] = [
  {
    path: 'config list',
    summary: 'List the profiles',
    examples: ['svc config list'],
    /** Never shows sessions. */
    async run({ config, output }) {
      const { current, profiles } = (await config()).read();
      const items = Object.entries(profiles).map(([name, profile]) => ({
        name,
        current: name === current,
        url: profile.url,
        wallet: profile.wallet,
        signed_in_until: profile.session === null ? null : profile.expires_at,
      }));
      await output.table({ items }, items, [
        { title: 'current', value: (p) => (p.current ? 'yes' : 'no') },
        { title: 'name', value: (p) => p.name },
        { title: 'service', value: (p) => p.url },
        { title: 'wallet', value: (p) => p.wallet },
        { title: 'signed in until', value: (p) => p.signed_in_until, isTime: true },
      ]);
      if (items.length === 0) output.note('No profiles. Create one with svc login URL.');
    },
  },
  {
    path: 'config use',
    summary: 'Choose the default profile',
    arguments: [{ syntax: '<name>', summary: 'name of the profile', completes: 'profile' }],
    examples: ['svc config use ops'],
    async run(context, { name }: { name: string }) {
      const { file } = await knownProfile(context, name);
      await file.update((config) => ({ ...config, current: name }));
      context.output.done({ current: name }, `${name} is now the default profile.`);
    },
  },
  {
    path: 'config remove',
    summary:
      'Remove a profile and its session from this machine. The session stays valid on the service. To end the session, run svc logout first',
    arguments: [{ syntax: '<name>', summary: 'name of the profile', completes: 'profile' }],
    examples: ['svc config remove ops'],
    async run(context, { name }: { name: string }) {
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
    },
  },
];

async function knownProfile({ config }: Context, name: string) {
  const file = await config();
  const { profiles } = file.read();
  if (Object.hasOwn(profiles, name)) return { file, profile: profiles[name] };
  throw new SvcError('not_found', `There is no profile ${name}.`, {
    hint: 'List them with svc config list.',
  });
}
