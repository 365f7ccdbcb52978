// `svc trust`: the services whose anchoring accounts `svc verify` accepts.

import type { Column } from '../../base/output/output.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../context.ts';
import type { CommandSpec } from '../program/command.ts';
import { yesOption } from '../program/options.ts';
import { serviceOrigin } from '../program/profiles.ts';

const urlArgument = { syntax: '<url>', summary: 'origin of the service' };
const savedUrlArgument = {
  syntax: '[url]',
  summary: 'origin of the service (default: the only service whose list you saved)',
};

export const trustCommands: readonly CommandSpec[] = [
  {
    path: 'trust add',
    summary: 'Save the anchoring accounts of a service, after you confirm them',
    details:
      'svc checks the signatures of the list and shows the addresses. Compare them with another source, for example the operator, and type the host of the service to confirm. From then on, svc verify accepts anchors of these accounts.',
    arguments: [urlArgument],
    options: [yesOption],
    examples: ['svc trust add https://svc.example.org'],
    async run(context, { url: text, yes = false }: { url: string; yes?: boolean }) {
      const { output, prompt } = context;
      const { url, saved, save } = await known(context, text);
      if (saved !== null) {
        throw new SvcError('usage', `The accounts of ${url} are saved already.`, {
          hint: `Run svc trust refresh ${url}.`,
        });
      }
      const { checkList, readList } = await import('../trust/check-list.ts');
      const found = await readList(context, url);
      await checkList(found, url);
      if (!output.asksJson) await output.table(null, rowsOf(found), columns);
      const consequence = `svc verify will accept anchors of these accounts as anchors of ${url}. Compare the addresses with a source other than this service.`;
      if (!yes) await (await prompt()).confirm(new URL(url).host, consequence);
      await save(found);
      output.done(found, `Saved the accounts of ${url}.`);
    },
  },
  {
    path: 'trust list',
    summary: 'List the services whose lists you saved, with their accounts',
    examples: ['svc trust list'],
    async run(context) {
      const { openTrustedServices } = await import('../trust/trusted-services.ts');
      const items = Object.values(openTrustedServices(context).read().services);
      await context.output.table({ items }, items.flatMap(rowsOf), columns);
      if (items.length === 0)
        context.output.note('No saved services. Add one with svc trust add URL.');
    },
  },
  {
    path: 'trust show',
    summary: 'Show the saved list of a service',
    arguments: [savedUrlArgument],
    examples: ['svc trust show', 'svc trust show https://svc.example.org'],
    async run(context, { url: text }: { url?: string }) {
      const { url, saved } = await known(context, text ?? null);
      if (saved === null) throw notSaved(url);
      await context.output.table(saved, rowsOf(saved), columns);
    },
  },
  {
    path: 'trust refresh',
    summary: 'Replace a saved list with the newer list of the service',
    details: `At least one saved account that is not retired must have signed the new list, and the new list must agree with the saved one (docs/anchoring.md). If it adds an account that did not sign its entry, you must confirm the change: svc verify names no sender by such an entry.

svc verify never refreshes a list.`,
    arguments: [savedUrlArgument],
    options: [yesOption],
    examples: ['svc trust refresh', 'svc trust refresh https://svc.example.org'],
    async run(context, { url: text, yes = false }: { url?: string; yes?: boolean }) {
      const { output, prompt } = context;
      const { url, saved, save } = await known(context, text ?? null);
      if (saved === null) throw notSaved(url);
      const { addsUnsigned, checkChange, checkList, readList } = await import(
        '../trust/check-list.ts'
      );
      const found = await readList(context, url);
      await checkList(found, url);
      checkChange(saved, found);
      if (!yes && addsUnsigned(saved, found)) {
        if (!output.asksJson) await output.table(null, rowsOf(found), columns);
        const consequence = `The list of ${url} adds an account that did not sign its entry. Ask the operator why.`;
        await (await prompt()).confirm(new URL(url).host, consequence);
      }
      await save(found);
      await output.table(found, rowsOf(found), columns);
      output.note(`Saved sequence ${found.sequence} of ${url}; it was ${saved.sequence}.`);
    },
  },
  {
    path: 'trust remove',
    summary: 'Remove the saved list of a service',
    arguments: [urlArgument],
    examples: ['svc trust remove https://svc.example.org'],
    async run(context, { url: text }: { url: string }) {
      const { url, saved, save } = await known(context, text);
      if (saved === null) throw notSaved(url);
      await save(null);
      const note = `svc verify no longer accepts the saved accounts of ${url}.`;
      context.output.done({ removed: url }, note);
    },
  },
];

/**
 * The saved list of a service, null if there is none, and how to replace it; null removes it. Without a service, that of
 * the only saved one.
 */
async function known(context: Context, text: string | null) {
  const { openTrustedServices } = await import('../trust/trusted-services.ts');
  const file = openTrustedServices(context);
  const url =
    text === null
      ? onlyOf(Object.keys(file.read().services))
      : serviceOrigin(text, context.options.insecureHttp === true);
  const save = (list: AnchorsList | null) =>
    file.update(({ services: { [url]: _, ...others } }) => ({
      services: list === null ? others : { ...others, [url]: list },
    }));
  return { url, saved: file.read().services[url] ?? null, save };
}

function onlyOf(urls: readonly string[]): string {
  const [only, ...others] = urls;
  if (only === undefined) {
    throw new SvcError('not_found', 'No services are saved.', {
      hint: 'Add one with svc trust add URL.',
    });
  }
  if (others.length === 0) return only;
  throw new SvcError('usage', `${urls.length} services are saved. Name one of them.`, {
    hint: `Saved: ${urls.join(', ')}`,
  });
}

function notSaved(url: string): SvcError {
  return new SvcError('not_found', `The accounts of ${url} are not saved.`, {
    hint: `Add them with svc trust add ${url}.`,
  });
}

function rowsOf({ accounts, origin }: AnchorsList) {
  return accounts.map((account) => ({ ...account, origin }));
}

const columns: Column<ReturnType<typeof rowsOf>[number]>[] = [
  { title: 'service', value: ({ origin }) => origin },
  { title: 'address', value: ({ address }) => address },
  { title: 'chain', value: ({ chain_id }) => chain_id },
  { title: 'first block', value: ({ first_block }) => first_block },
  { title: 'last block', value: ({ last_block }) => last_block },
  { title: 'signed by', value: ({ signature }) => (signature ? 'its key' : 'the origin only') },
];
