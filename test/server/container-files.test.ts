import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseYaml } from '@redocly/openapi-core';
import { DCLinter } from 'dclint';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { environment } from '../../src/server/environment.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

interface Service {
  command?: string[];
  environment?: Record<string, string>;
  secrets: (string | { source: string })[];
  volumes: string[];
  networks: string[] | Record<string, { ipv4_address?: string }>;
}
interface Compose {
  services: Record<'svc' | 'postgres' | 'nginx', Service>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
  networks: Record<string, unknown>;
}

const containerfile = read('deploy/Containerfile');
const { services, ...declared } = parseYaml(read('deploy/compose.yaml')) as Compose;
const { svc, postgres, nginx } = services;

/** The instances that nginx passes requests to, as the file comes. */
const upstreamServers = [...read('deploy/nginx.conf').matchAll(/^ {2}server (\S+)/gm)].map(
  ([, server = '']) => server,
);

/** The variables that the image sets. */
const ofImage = Object.fromEntries(
  [...containerfile.matchAll(/^(?:ENV| {3}) (\w+)=(\S+)/gm)].map(([, name, value]) => [
    name,
    value,
  ]),
);
/** The variables of the service in the compose file, with what the operator must add. */
const ofCompose = {
  ...ofImage,
  ...svc.environment,
  SVC_BASE_URL: 'https://svc.example',
  SVC_CHAIN_RPC_URL: 'https://rpc.example',
};

describe('deploy/Containerfile', () => {
  it('sets only variables of the service', () => {
    const names = Object.keys(ofImage).filter((name) => name.startsWith('SVC_'));

    expect(names).toEqual(['SVC_HOST', 'SVC_PORT', 'SVC_DATA_DIR']);
    expect(names.filter((name) => !Object.hasOwn(environment.properties, name))).toEqual([]);
  });

  it('starts the program without a shell, as an account that is not root', () => {
    const [, last = ''] = containerfile.split(/^FROM \$\{BASE\}$/m);

    expect(last).toMatch(/^USER 10001:10001$/m);
    expect(last).toMatch(/^ENTRYPOINT \["node", "\/opt\/svc\/bin\//m);
    expect(last).toMatch(/^CMD \["start"\]$/m);
    expect(last).toMatch(/^HEALTHCHECK .*CMD \["node", .*\/healthz/m);
  });
});

/** Errors against the published schema of the Compose Specification and against rules of safety. */
function errorsOf(file: string) {
  // nginx serves everyone, and the operator builds the image of the service.
  const off = { 'no-unbound-port-interfaces': 0, 'service-image-require-explicit-tag': 0 } as const;
  const linter = new DCLinter({ quiet: true, debug: false, exclude: [], rules: off });
  // The package lacks the file with this type.
  const results: { messages: { type: string; rule: string }[] }[] = linter.lintFiles([file], false);
  const messages = results.flatMap((result) => result.messages);
  return messages.filter(({ type }) => type === 'error').map(({ rule }) => rule);
}

describe('deploy/compose.yaml', () => {
  it('is valid by the schema of the Compose Specification', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'svc-compose-'));
    const invalid = path.join(folder, 'compose.yaml');
    writeFileSync(
      invalid,
      read('deploy/compose.yaml').replace('read_only: true', 'read_only: [1]'),
    );

    expect(errorsOf(path.join(root, 'deploy/compose.yaml'))).toEqual([]);
    expect(errorsOf(invalid)).toEqual(['invalid-schema']);
    rmSync(folder, { recursive: true });
  });

  it('gives the service a valid configuration', () => {
    const config = readConfig(ofCompose, { chain: true });

    expect(config.database.kind).toBe('postgres');
    expect(config.anchorKeys).toMatchObject([{ file: '/run/secrets/anchor-key' }]);
  });

  it('declares each secret, volume and network that it uses, and no other', () => {
    const all = Object.values(services);
    const secrets = all
      .flatMap((each) => each.secrets)
      .map((each) => (typeof each === 'string' ? each : each.source));
    const volumes = all
      .flatMap((each) => each.volumes)
      .map((each) => each.split(':')[0] ?? '')
      .filter((name) => !name.startsWith('.'));
    const networks = all.flatMap(({ networks: used }) =>
      Array.isArray(used) ? used : Object.keys(used),
    );

    expect(new Set(secrets)).toEqual(new Set(Object.keys(declared.secrets)));
    expect(new Set(volumes)).toEqual(new Set(Object.keys(declared.volumes)));
    expect(new Set(networks)).toEqual(new Set(Object.keys(declared.networks)));
  });

  it('has no secret in its text', () => {
    for (const { environment: variables = {} } of [svc, postgres]) {
      expect(Object.keys(variables).filter((name) => /(KEY|PASSWORD|TOKEN)$/.test(name))).toEqual(
        [],
      );
    }
    expect(new URL(svc.environment?.SVC_DATABASE_URL ?? '').password).toBe('');
  });

  it('makes nginx pass requests only to the service', () => {
    const [, replaced = '', by] = /'s\/(.+)\/(.+)\/'/.exec(nginx.command?.at(-1) ?? '') ?? [];

    const left = upstreamServers.map((server) => server.replace(new RegExp(replaced), String(by)));
    expect(left).toEqual([`${addressOf(svc)}:${ofImage.SVC_PORT}`]);
    expect(svc.environment?.SVC_TRUST_PROXY).toBe(addressOf(nginx));
  });

  it('keeps PostgreSQL in an isolated network', () => {
    expect(postgres.networks).toEqual(['svc']);
    expect(declared.networks.svc).toMatchObject({ internal: true });
  });
});

describe('deploy/nginx.conf', () => {
  it('passes requests to one instance, where svc-server listens by default', () => {
    const { SVC_HOST, SVC_PORT } = readConfig({}).values;

    expect(upstreamServers).toEqual([`${SVC_HOST}:${SVC_PORT}`]);
  });
});

function addressOf({ networks }: Service): string | undefined {
  return Array.isArray(networks) ? undefined : networks.svc?.ipv4_address;
}
