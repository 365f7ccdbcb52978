import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { HttpResponse, http } from 'msw';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attachFiles } from '../../../src/client/files.ts';
import { auditBundleAlone } from '../../../src/proof/audit-bundle.ts';
import type { Bundle } from '../../../src/proof/bundle.ts';
import { encodePayload } from '../../../src/proof/payload.ts';
import { reasonsOf } from '../../../src/proof/subject/verdict.ts';
import {
  type Dashboard,
  type DashboardPage,
  openDashboard,
  waitAhead,
} from '../../support/dashboard.ts';
import { arrangeScene, type Scene } from '../../support/dashboard-scene.ts';
import { answerOf, answerPage } from '../../support/page-answers.ts';
import { photo, writeRecording } from '../../support/recording.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { waitFor } from '../../support/wait-for.ts';

let dashboard: Dashboard;
let opened: DashboardPage;
let scene: Scene;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-proofs-'));
  dashboard = await openDashboard();
  opened = await dashboard.openSignedIn('/account');
  scene = await arrangeScene(dashboard, await dashboard.clientOf(opened));
});
afterAll(async () => {
  await dashboard?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Clicks, and keeps what the browser saves. */
async function download(page: Page, button: string): Promise<string> {
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: button }).click();
  const file = path.join(folder, (await saved).suggestedFilename());
  await (await saved).saveAs(file);
  return file;
}

describe('the overview', () => {
  it('shows changes live, and reports when it no longer can', async () => {
    const { page } = opened;
    await page.goto(`${dashboard.server.url}/`);
    const tasks = page.getByRole('region', { name: 'Tasks' });
    await tasks.getByText('1 claimed').waitFor();

    await scene.robots[2]?.client.call('createTask', { body: { title: 'Move pallet 3' } });
    await waitAhead(page, tasks.getByText('2 claimed'));
    await expect.poll(() => page.getByText(/^Updated/).isVisible()).toBe(true);

    await opened.context.setOffline(true);
    await waitAhead(page, page.getByText('Out of date: updated'));
    await opened.context.setOffline(false);
    await waitAhead(page, page.getByText(/^Updated/));
  });
});

describe('a task', () => {
  it('follows its proof from the claim to the receipt', async () => {
    const { page } = opened;
    const [robot] = scene.robots;
    const task = await robot?.client.call('createTask', { body: { title: 'Count the boxes' } });
    const id = task?.body.task.id ?? '';
    await page.goto(`${dashboard.server.url}/tasks/${id}`);
    await page.getByText('The robot has not submitted a proof yet').waitFor();

    await robot?.client.call('completeTask', { params: { id }, body: { proof: { boxes: 7 } } });

    await waitAhead(page, page.getByRole('button', { name: 'Download receipt' }));
    await waitAhead(page, page.getByText('The block is final'));
  });

  it('offers evidence, receipt and bundle for verification elsewhere', async () => {
    const { page } = opened;
    await page.goto(`${dashboard.server.url}/tasks/${scene.verified.id}`);

    const evidence = await download(page, 'Download evidence');
    const receipt = await download(page, 'Download receipt');
    const bundle = await download(page, 'Download bundle');

    const rpc = ['--rpc-url', dashboard.server.rpc_url, '--url', dashboard.server.url];
    const verified = await runInProcess('svc', ['verify', receipt, '--proof', evidence, ...rpc]);
    expect(verified.exitCode, verified.stderr).toBe(0);
    expect((await runInProcess('svc', ['verify', bundle, ...rpc])).exitCode).toBe(0);
    const command = await page.locator('pre', { hasText: 'svc verify' }).textContent();
    expect(command).toBe(
      `svc verify ${path.basename(receipt)} --rpc-url ${dashboard.server.rpc_url} --url ${dashboard.server.url}`,
    );
  });

  it('is found in the list by its status', async () => {
    const { page } = opened;
    await page.goto(`${dashboard.server.url}/tasks`);
    await page.getByRole('link', { name: 'Sweep aisle 9' }).waitFor();

    await page.getByLabel('Status').selectOption('Verified');

    await page.getByRole('link', { name: 'Sweep aisle 9' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Pick order 4711' }).waitFor();
  });

  it('links to its transaction and the proofs that it anchors', async () => {
    const { page } = opened;
    await page.goto(`${dashboard.server.url}/tasks/${scene.verified.id}`);

    await page.getByText('Hashes, root and path').click();
    await page.getByRole('link', { name: 'Open in the explorer' }).click();

    await page.waitForURL(`${dashboard.server.url}/tx/${scene.verified.txHash}`);
    await page.getByRole('link', { name: 'Verify it' }).click();
    await page.waitForURL(`${dashboard.server.url}/verify/${scene.verified.proofHash}`);
    await page.getByText('Verified', { exact: true }).waitFor();
  });
});

describe('evidence', () => {
  it('is erased only after a typed confirmation, and keeps hash and receipt', async () => {
    const { page } = opened;
    const [robot] = scene.robots;
    const task = await robot?.client.call('createTask', { body: { title: 'Read the meter' } });
    const id = task?.body.task.id ?? '';
    await robot?.client.call('completeTask', { params: { id }, body: { proof: { kwh: 4711 } } });
    await page.goto(`${dashboard.server.url}/tasks/${id}`);
    const evidence = page.getByText('"kwh": 4711');
    await evidence.waitFor();

    await page.getByRole('button', { name: 'Erase evidence' }).click();
    const last = page.getByRole('button', { name: 'Erase permanently' });
    await expect.poll(() => last.isDisabled()).toBe(true);
    await page.getByLabel('Type erase to confirm').fill('erase');
    await last.click();

    await page.getByText('The evidence of this task was erased').waitFor();
    expect(await evidence.count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Download evidence' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Download receipt' }).waitFor();
    const rpc = ['--rpc-url', dashboard.server.rpc_url, '--url', dashboard.server.url];
    const bundle = await download(page, 'Download bundle');
    expect((await runInProcess('svc', ['verify', bundle, ...rpc])).exitCode).toBe(0);
  });
});

describe('public verification', () => {
  let visitor: DashboardPage;
  /** Bodies that the page sent. */
  const sent: string[] = [];
  beforeAll(async () => {
    visitor = await dashboard.open('/verify', { wallet: null });
    visitor.page.on('request', (request) => {
      sent.push(`${request.url()} ${request.postData() ?? ''}`);
    });
  });

  const choose = async (name: string, text: string) => {
    const file = path.join(folder, name);
    await writeFile(file, text);
    await visitor.page.goto(`${dashboard.server.url}/verify`);
    await visitor.page.locator('input[type=file]').setInputFiles(file);
  };
  const bundleText = async () => {
    const owner = await dashboard.clientOf(opened);
    const { body } = await owner.call('getBundle', { params: { id: scene.verified.id } });
    return JSON.stringify(body);
  };

  const give = async (text: string) => {
    const { page } = visitor;
    await page.goto(`${dashboard.server.url}/verify`);
    await page.getByLabel('Hash, task id').fill(text);
    await page.getByRole('button', { name: 'Verify' }).click();
  };
  const receiptText = async () => {
    const owner = await dashboard.clientOf(opened);
    const { body } = await owner.call('getTask', { params: { id: scene.verified.id } });
    return JSON.stringify({ verification: body.verification });
  };
  const proofPage = () =>
    `https://stranger.example/verify/${scene.verified.proofHash}?task_id=${scene.verified.id}`;

  it('accepts a pasted hash, and shows every check', async () => {
    const { page } = visitor;
    await give(scene.verified.proofHash.slice(0, 60));
    await page.getByRole('alert').getByText('Nothing was recognized').waitFor();

    await give(` ${scene.verified.proofHash.toUpperCase()} `);

    await page.getByText('Verified', { exact: true }).waitFor();
    await page.getByText('Checks, made in this browser: all 11 hold').click();
    await page.getByText('The calldata holds the proof hash').waitFor();
    await expect.poll(() => page.title()).toContain('Pick order 4711 by picker-1');
  });

  it.each<[string, () => string | Promise<string>, string]>([
    ['a proof hash without 0x', () => scene.verified.proofHash.slice(2), 'proof hash'],
    ['the transaction of one proof', () => scene.verified.txHash, 'transaction hash'],
    ['the address of a proof page', proofPage, 'proof URL'],
    ['a receipt', receiptText, 'receipt'],
    ['a bundle', bundleText, 'bundle'],
    ['evidence', () => JSON.stringify(scene.evidence), 'evidence'],
  ])('recognizes %s, and says so', async (_, text, kind) => {
    await give(await text());

    await visitor.page.getByText(`Recognized as ${kind}`, { exact: true }).waitFor();
    await visitor.page.getByText('Verified', { exact: true }).waitFor();
  });

  it('looks up a task id only for the account of the task', async () => {
    await give(scene.verified.id);
    await visitor.page.getByText('Recognized as task id: sign in').waitFor();

    const { page } = opened;
    await page.goto(`${dashboard.server.url}/verify`);
    await page.getByLabel('Hash, task id').fill(scene.verified.id.toUpperCase());
    await page.getByLabel('Hash, task id').press('Enter');

    await page.getByText('Recognized as task id', { exact: true }).waitFor();
    await page.getByText('Verified', { exact: true }).waitFor();
  });

  it('reports that a transaction of several proofs does not select one of them', async () => {
    const { page } = visitor;
    const payload = encodePayload({ kind: 'batch', root: `0x${'ab'.repeat(32)}`, leaf_count: 3 });
    const goOn = await answerPage(
      page,
      http.get('*/api/v1/verify/:hash', () =>
        HttpResponse.json({ error: 'not_found', message: 'No task' }, { status: 404 }),
      ),
      http.get('*/api/v1/transactions/:hash', async ({ request }) => {
        const answer = await answerOf<{ tx: object }>(request);
        return HttpResponse.json({ ...answer, tx: { ...answer.tx, input: payload } });
      }),
    );
    await give(scene.verified.txHash);

    await page.getByText('It is the transaction of a batch of 3 proofs').waitFor();
    await goOn();
  });

  it('names the number in the evidence that counts as 0, and verifies it', async () => {
    const [robot] = scene.robots;
    const task = await robot?.client.call('createTask', { body: { title: 'Weigh' } });
    const id = task?.body.task.id ?? '';
    const proof = { of: id, grams: 0 };
    await robot?.client.call('completeTask', { params: { id }, body: { proof } });

    await choose('evidence.json', `{"of":"${id}","grams":1e-400}`);

    await visitor.page.getByText('The number at /grams is too small for a double').waitFor();
    await visitor.page.getByText('Verified', { exact: true }).waitFor();
  });

  it('refuses a file that may hold a private key: nothing is sent', async () => {
    await choose('wallet.key', `${scene.verified.proofHash}\n`);
    sent.length = 0;

    await visitor.page.getByRole('alert').getByText('may be a private key').waitFor();
    expect(sent.join('\n')).not.toContain(scene.verified.proofHash);
  });

  it('shows the sender, the statement of the service about it, and what is not proven', async () => {
    const { page } = visitor;
    await page.goto(`${dashboard.server.url}/verify/${scene.verified.proofHash}`);

    await page.getByText('Details', { exact: true }).click();
    await page.getByText('This service states that it is its account').waitFor();
    await page.getByText('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266').first().waitFor();
    await page.getByText('of chain 31337, a test chain').waitFor();
    const unproven = page.getByRole('region', { name: 'What this does not prove' });
    await unproven.getByText('The identity of the robot').waitFor();
    await unproven.getByText('the task’s title “Pick order 4711”').waitFor();
  });

  it.each([
    ['that the service does not list', () => [], 'Anchored by an unknown account'],
    [
      'that was retired before',
      (accounts: object[]) => accounts.map((one) => ({ ...one, last_block: '0' })),
      'Not verified',
    ],
  ])('does not say “Verified” of an account %s', async (_, change, title) => {
    const { page } = visitor;
    const goOn = await answerPage(
      page,
      http.get('*/.well-known/svc-anchors.json', async ({ request }) => {
        const list = await answerOf<{ accounts: object[] }>(request);
        return HttpResponse.json({ ...list, accounts: change(list.accounts) });
      }),
    );
    await page.goto(`${dashboard.server.url}/verify/${scene.verified.proofHash}`);

    await page.getByText(title, { exact: true }).waitFor();
    expect(await page.getByText('Verified', { exact: true }).count()).toBe(0);
    await goOn();
  });

  it('hashes evidence in the browser without sending it', async () => {
    sent.length = 0;
    // Another order and other spaces: the same document.
    await choose('evidence.json', JSON.stringify({ seconds: 481.5, ...scene.evidence }, null, 4));

    await visitor.page.getByText('Verified', { exact: true }).waitFor();

    expect(sent.join('\n')).toContain(scene.verified.proofHash);
    expect(sent.join('\n')).not.toMatch(/front\.jpg|481\.5|evidence\.json/);
  });

  it('compares dropped files with those that the evidence lists, without sending them', async () => {
    const { page } = visitor;
    const [robot] = scene.robots;
    const [run, changed] = ['run.mcap', 'photo.jpg'].map((name) => path.join(folder, name));
    await writeRecording(String(run), 600);
    await writeFile(String(changed), photo);
    const task = await robot?.client.call('createTask', { body: { title: 'Map the hall' } });
    const id = task?.body.task.id ?? '';
    const proof = await attachFiles({ of: id }, [String(run), String(changed)]);
    await robot?.client.call('completeTask', { params: { id }, body: { proof } });
    await choose('evidence.json', JSON.stringify(proof));
    const files = page.getByRole('region', { name: 'Files that the evidence lists' });
    await files.getByText('run.mcap was not given').waitFor();
    sent.length = 0;

    await files.locator('input[type=file]').setInputFiles(String(run));
    await files.getByText('run.mcap matches').waitFor();
    await page.getByText('Verified', { exact: true }).waitFor();

    await writeFile(String(changed), 'changed');
    await files.locator('input[type=file]').setInputFiles(String(changed));
    await files.getByText('photo.jpg differs').waitFor();
    await page.getByText('Not verified', { exact: true }).waitFor();
    expect(await page.getByText('Verified', { exact: true }).count()).toBe(0);
    expect(sent.join('\n')).not.toMatch(/mcap|jpg/);
  });

  it('checks a bundle', async () => {
    await choose('bundle.json', await bundleText());

    await visitor.page.getByText('Verified', { exact: true }).waitFor();
    const recognized = visitor.page.getByRole('status', { name: 'Recognized' });
    await recognized.getByText('The signed transaction has the stated hash').waitFor();
  });

  it.each([
    ['proof', () => ({ proof_hash: `0x${'12'.repeat(32)}` })],
    ['task', () => ({ task: { id: scene.claimed.id } })],
  ])('accepts no statement about another %s', async (_, change) => {
    const { page } = visitor;
    const goOn = await answerPage(
      page,
      http.get('*/api/v1/verify/:hash', async ({ request }) => {
        const answer = await answerOf<{ task: object }>(request);
        const { task = {}, ...others } = change() as { task?: object };
        return HttpResponse.json({ ...answer, ...others, task: { ...answer.task, ...task } });
      }),
    );
    await give(proofPage());

    await page.getByRole('alert').getByText('answered about another proof').waitFor();
    expect(await page.getByText('Verified', { exact: true }).count()).toBe(0);
    await goOn();
  });

  it('shows what a changed bundle no longer proves', async () => {
    await choose('bundle.json', (await bundleText()).replace('"picked":12', '"picked":13'));

    const failing = visitor.page.locator('[data-ok=false]');
    await failing.first().waitFor();
    expect(await visitor.page.getByText('Verified', { exact: true }).count()).toBe(0);
  });

  it('shows the same reason as svc verify for a changed title', async () => {
    const bundle: Bundle = JSON.parse(await bundleText());
    const changed = { ...bundle, claim: { ...bundle.claim, title: 'Rest' } };
    const [reason = ''] = reasonsOf(auditBundleAlone(changed));

    await choose('bundle.json', JSON.stringify(changed));

    expect(reason).not.toBe('');
    await visitor.page.getByRole('status', { name: 'Verdict' }).getByText(reason).waitFor();
  });

  it('reports a file that is neither', async () => {
    await choose('notes.json', '{"a":1,"a":2}');

    await visitor.page.getByRole('alert').getByText('notes.json cannot be checked').waitFor();
  });

  it('accepts a dropped file', async () => {
    const { page } = visitor;
    await page.goto(`${dashboard.server.url}/verify`);
    await page.getByText('Drop a receipt, a bundle or evidence').waitFor();
    await page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([${JSON.stringify(JSON.stringify(scene.evidence))}], 'dropped.json'));
      document.querySelector('.drop label').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }));
    })()`);

    await page.getByText('Verified', { exact: true }).waitFor();
  });

  describe('the page of a proof', () => {
    const open = () =>
      visitor.page.goto(
        `${dashboard.server.url}/verify/${scene.verified.proofHash}?task_id=${scene.verified.id}`,
      );
    const drop = () => visitor.page.getByRole('region', { name: 'Compare a file' });
    const give = async (name: string, text: string) => {
      await writeFile(path.join(folder, name), text);
      await drop().locator('input[type=file]').setInputFiles(path.join(folder, name));
    };

    it('takes a bundle directly under the verdict, and shows claim, expected result and evidence', async () => {
      const { page } = visitor;
      await open();
      const verdict = page.getByRole('status', { name: 'Verdict' });
      await verdict.waitFor();
      const [above, below] = [await verdict.boundingBox(), await drop().boundingBox()];
      expect((below?.y ?? 0) - (above?.y ?? 0) - (above?.height ?? 0)).toBeLessThan(40);

      await give('bundle.json', await bundleText());

      const claim = page.getByRole('region', { name: 'Claim', exact: true });
      await claim.getByText('Twelve boxes from row C').waitFor();
      await claim.getByText('"picked": 12').waitFor();
      await page
        .getByRole('region', { name: 'Evidence', exact: true })
        .getByText('front.jpg')
        .waitFor();
      await page.getByText('Verified', { exact: true }).waitFor();
      expect(await drop().count()).toBe(0);
    });

    it('refuses a changed bundle, and one of another proof', async () => {
      const { page } = visitor;
      await open();
      await give('other.json', '{"another":"proof"}');
      await drop().getByRole('alert').getByText('other.json is about another proof').waitFor();
      await page.getByText('Verified', { exact: true }).waitFor();

      await give('bundle.json', (await bundleText()).replace('Twelve boxes', 'Two boxes'));

      await page.getByText('Not verified', { exact: true }).waitFor();
      expect(await page.getByRole('region', { name: 'Claim', exact: true }).count()).toBe(0);
    });

    it('asks for the bundle before a photo', async () => {
      await open();
      await drop().waitFor();
      await give('photo.jpg', 'any');

      await drop().getByText('photo.jpg cannot be compared yet').waitFor();
    });

    it('shows title and statement within 3 s, as not checked, while the chain is down', async () => {
      const { page } = visitor;
      await page.route('**/api/v1/verify/*', () => {});
      await waitForFinality();
      const begun = Date.now();
      await open();

      const stated = page.getByRole('region', { name: 'Stated by the service, not checked' });
      await stated.getByText('has not changed since').waitFor();
      await page.getByRole('heading', { name: 'Pick order 4711 by picker-1' }).waitFor();
      expect(Date.now() - begun).toBeLessThan(3_000);
      expect(await page.getByText('Verified', { exact: true }).count()).toBe(0);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    });

    it('has times of one zone', async () => {
      const { page } = visitor;
      await open();
      await page.getByText('Details', { exact: true }).click();
      await page.getByRole('button', { name: 'Show the certificate' }).click();
      await page.locator('.certificate-sheet').waitFor();

      const times = await page.getByText(/\d\d:\d\d/).allTextContents();
      expect(times.length).toBeGreaterThan(4);
      expect(times.filter((text) => !/\d\d:\d\d(:\d\d)? UTC/.test(text))).toEqual([]);
    });

    it('saves its certificate as a file of its own', async () => {
      const { page } = visitor;
      await open();
      await page.getByRole('button', { name: 'Show the certificate' }).click();
      const html = await readFile(await download(page, 'Save as a file'), 'utf8');

      expect(html).toContain('<h1>Certificate of an anchored proof</h1>');
      expect(html).toContain(scene.verified.proofHash);
      expect(html).toContain('svc verify');
      expect(html).toContain('<svg');
    });

    const waitForFinality = async () => {
      const owner = await dashboard.clientOf(opened);
      await waitFor('the finality of the anchor', async () => {
        const { body } = await owner.call('getTask', { params: { id: scene.verified.id } });
        return body.verification?.finality === 'finalized';
      });
    };
  });

  it('reports a hash that was not anchored here as unknown', async () => {
    const { page } = visitor;
    await page.goto(`${dashboard.server.url}/verify/0x${'ab'.repeat(32)}`);

    await page.getByText('No proof with this hash was anchored here').waitFor();
    expect(await page.getByText('Verified', { exact: true }).count()).toBe(0);
  });
});
