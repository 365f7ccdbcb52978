import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import openapiTs, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageFolder } from '../../../src/base/version.ts';
import { startServiceWithRobot, type TestRobot, type TestService } from '../../support/service.ts';

let service: TestService;
let robot: TestRobot;
let folder: string;
beforeAll(async () => {
  ({ service, robot } = await startServiceWithRobot({ chain: 'mining' }));
  folder = await mkdtemp(path.join(packageFolder, 'node_modules', '.generated-client-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await service.close();
});

/** A robot in another project, which knows the service by its OpenAPI document alone. */
const program = `
import type { paths } from './schema.ts';

type Claim = paths['/api/v1/tasks']['post'];
type Completion = paths['/api/v1/tasks/{id}/complete']['post'];

async function post<Answer>(url: string, key: string, body: unknown): Promise<Answer> {
  const headers = { authorization: \`Bearer \${key}\`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer;
}

export async function work(url: string, key: string): Promise<string> {
  const claim: NonNullable<Claim['requestBody']>['content']['application/json'] = { title: 'Sort' };
  const { task } = await post<Claim['responses'][201]['content']['application/json']>(
    \`\${url}/api/v1/tasks\`, key, claim);
  const evidence: NonNullable<Completion['requestBody']>['content']['application/json'] = {
    proof: { sorted: 12 },
  };
  const { verification } = await post<Completion['responses'][200]['content']['application/json']>(
    \`\${url}/api/v1/tasks/\${task.id}/complete\`, key, evidence);
  return verification.status;
}
`;

it('compiles a client generated from the OpenAPI document, which completes a task', async () => {
  const { body } = await service.call('GET', '/openapi.json');
  await writeFile(path.join(folder, 'schema.ts'), astToString(await openapiTs(body)));
  const file = path.join(folder, 'robot.ts');
  await writeFile(file, program);

  const compiled = ts.createProgram([file], {
    strict: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    outDir: path.join(folder, 'out'),
    rewriteRelativeImportExtensions: true,
    types: ['node'],
  });
  const found = ts.getPreEmitDiagnostics(compiled).map(({ messageText }) => messageText);
  compiled.emit();
  const { work } = await import(pathToFileURL(path.join(folder, 'out/robot.js')).href);

  expect(found).toEqual([]);
  expect(await readFile(path.join(folder, 'schema.ts'), 'utf8')).toContain('anchor_queued');
  expect(await work(service.url, robot.apiKey)).toBe('verified');
});
