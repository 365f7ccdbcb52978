import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { Route } from '../../src/protocol/route.ts';
import { type Body, type RouteName, type Routes, routes } from '../../src/protocol/routes.ts';
import type { TokenScope } from '../../src/protocol/tokens.ts';
import { createTestClock } from '../support/clock.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import type { Reply, Send } from '../support/wire.ts';

type WithBody = {
  [Name in RouteName]: Routes[Name] extends { body: unknown } ? Name : never;
}[RouteName];

/** What an account has that a path or a body can name. */
interface Scene {
  owner: Owner;
  robot: TestRobot;
  fleetId: string;
  taskId: string;
  /** A second session of the owner. */
  sessionId: string;
  tokenId: string;
  webhookId: string;
  deliveryId: string;
  /** Account tokens by their scope. */
  tokens: Record<TokenScope, string>;
}

const rows = Object.entries<Route>(routes) as [RouteName, Route][]; // Object.entries forgets the names.

/** A body for every route that takes one, so that only the caller can be what is refused. */
function bodyOf(name: RouteName, { owner, robot, fleetId }: Scene): unknown {
  const bodies: { [Name in WithBody]: Body<Name> } = {
    createChallenge: { address: owner.wallet },
    verifySignature: { address: owner.wallet, signature: `0x${'00'.repeat(65)}` },
    startCliSignIn: { name: 'laptop' },
    decideCliSignIn: { user_code: 'ABCD-EFGH' },
    exportAccount: { signature: `0x${'00'.repeat(65)}`, message: 'Export it.' },
    deleteAccount: { signature: `0x${'00'.repeat(65)}`, message: 'Delete it.' },
    redeemCliCode: { device_code: 'A'.repeat(43) },
    createRobot: { name: 'arm-2' },
    patchRobot: { name: 'arm-2', fleet_id: fleetId },
    assignRobots: { robot_ids: [robot.id], fleet_id: fleetId },
    createFleet: { name: 'South' },
    createToken: { name: 'ci', scope: 'read' },
    patchFleet: { name: 'South' },
    reorderFleets: { order: [fleetId] },
    createTask: { title: 'Sort the parcels' },
    completeTask: { proof: newEvidence() },
    batchTasks: { items: [{ id: robot.id, claim: { title: 'Sort the parcels' } }] },
    proposeKey: {
      public_key: {
        kty: 'OKP',
        crv: 'Ed25519',
        x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      },
    },
    signKeyText: { text: 'Sign with this key.', signature: `0x${'00'.repeat(65)}` },
    sendStatements: { statements: ['YQ.YQ.YQ'] },
    recordSamples: { battery_pct: 80 },
    createEvent: { event_type: 'info' },
    createWebhook: { url: 'https://ops.example.org', events: ['task.failed'] },
    patchWebhook: { enabled: false },
    acknowledgeAlerts: { alert_ids: [robot.id] },
    saveAlertRule: { kind: 'battery_low', threshold: 20 },
  };
  return name in bodies ? bodies[name as WithBody] : undefined;
}

function pathOf({ path }: Route, scene: Scene): string {
  const { robot, fleetId, taskId, sessionId, tokenId, webhookId, deliveryId } = scene;
  return path
    .replace(/:(proofHash|txHash)/, `0x${'ab'.repeat(32)}`)
    .replace('/robots/:id/statements', `/robots/${robot.id}/statements?kid=${'A'.repeat(43)}`)
    .replace('/robots/:id', `/robots/${robot.id}`)
    .replace('/fleets/:id', `/fleets/${fleetId}`)
    .replace('/tasks/:id', `/tasks/${taskId}`)
    .replace('/sessions/:id', `/sessions/${sessionId}`)
    .replace('/tokens/:id', `/tokens/${tokenId}`)
    .replace('/webhooks/:id', `/webhooks/${webhookId}`)
    .replace('/webhook-deliveries/:id', `/webhook-deliveries/${deliveryId}`)
    .replace('/alerts/:id', `/alerts/${robot.id}`)
    .replace(':kind', 'battery_low');
}

const refusals = [
  'missing_api_key',
  'invalid_api_key',
  'missing_session',
  'invalid_session',
  'forbidden_origin',
  'invalid_token',
  'insufficient_scope',
];

describe('the permissions of a caller', () => {
  const clock = createTestClock();
  let service: TestService;
  let scene: Scene;
  /** Credentials that are none any more. */
  let ended: Record<
    'rotatedKey' | 'deletedKey' | 'loggedOut' | 'expired' | 'revokedToken' | 'expiredToken',
    string
  >;
  let stranger: Scene;
  beforeAll(async () => {
    const webhooks = { key: Buffer.alloc(32), ruleOf: () => () => true };
    service = await startTestService({ clock, webhooks });
    const past = await service.signIn();
    const expired = past.session;
    const expiredToken = (await makeToken(past, 'write', 30)).secret;
    clock.advance(limits.sessionLifetimeMs);
    scene = await makeScene();
    stranger = await makeScene();
    const revoked = await makeToken(scene.owner, 'write');
    await service.call('DELETE', `/api/v1/tokens/${revoked.token.id}`, {
      session: scene.owner.session,
    });
    ended = {
      ...(await endedKeys(scene.owner)),
      loggedOut: await loggedOut(scene),
      expired,
      revokedToken: revoked.secret,
      expiredToken,
    };
  });
  afterAll(() => service.close());

  async function makeScene(): Promise<Scene> {
    const owner = await service.signIn();
    const { session } = owner;
    const robot = await service.makeRobot(owner);
    const fleet = await service.call('POST', '/api/v1/fleets', {
      session,
      body: { name: 'North' },
    });
    const other = await service.signIn(owner.account);
    const sessions = await service.call('GET', '/api/v1/sessions', { session: other.session });
    const second = sessions.body.items.find((one: { current: boolean }) => one.current);
    const taskId = await service.claim(robot);
    const webhook = await service.call('POST', '/api/v1/webhooks', {
      session,
      body: { url: 'https://ops.example.org', events: ['task.failed'] },
    });
    const webhookId = webhook.body.webhook.id;
    const sent = await service.call('POST', `/api/v1/webhooks/${webhookId}/test`, { session });
    const read = await makeToken(owner, 'read');
    const write = await makeToken(owner, 'write');
    return {
      owner,
      robot,
      fleetId: fleet.body.fleet.id,
      taskId,
      sessionId: second.id,
      tokenId: read.token.id,
      webhookId,
      deliveryId: sent.body.delivery.id,
      tokens: { read: read.secret, write: write.secret },
    };
  }

  /** Reads change nothing. */
  async function sceneFor(name: RouteName): Promise<Scene> {
    return routes[name].method === 'GET' ? scene : makeScene();
  }

  async function makeToken({ session }: Owner, scope: TokenScope, days = 1) {
    const body = { name: scope, scope, expires_in_days: days };
    return (await service.call('POST', '/api/v1/tokens', { session, body })).body;
  }

  async function endedKeys(owner: Owner) {
    const [rotated, deleted] = [await service.makeRobot(owner), await service.makeRobot(owner)];
    const { session } = owner;
    await service.call('POST', `/api/v1/robots/${rotated.id}/rotate-key`, { session });
    await service.call('DELETE', `/api/v1/robots/${deleted.id}`, { session });
    return { rotatedKey: rotated.apiKey, deletedKey: deleted.apiKey };
  }

  async function loggedOut({ owner }: Scene): Promise<string> {
    const { session } = await service.signIn(owner.account);
    await service.call('POST', '/api/auth/logout', { session });
    return session;
  }

  function ask(name: RouteName, of: Scene, by: Send): Promise<Reply> {
    const route: Route = routes[name];
    const body = bodyOf(name, of);
    return service.call(route.method, pathOf(route, of), {
      headers: { origin: service.url },
      ...(body === undefined ? {} : { body }),
      ...by,
    });
  }

  const withAccess = (...kinds: Route['access'][]) =>
    rows.filter(([, { access }]) => kinds.includes(access)).map(([name]) => name);

  describe.each(withAccess('public'))('%s', (name) => {
    it.each<[string, (own: Scene) => Send]>([
      ['no credential', () => ({})],
      ['a robot key', ({ robot }) => ({ apiKey: robot.apiKey })],
      ['a rotated key', () => ({ apiKey: ended.rotatedKey })],
      ["a deleted robot's key", () => ({ apiKey: ended.deletedKey })],
      ['a session', ({ owner }) => ({ session: owner.session })],
      ['a logged-out session', () => ({ session: ended.loggedOut })],
      ['an expired session', () => ({ session: ended.expired })],
      ['an account token', ({ tokens }) => ({ apiKey: tokens.write })],
      ['a revoked token', () => ({ apiKey: ended.revokedToken })],
    ])('is public: %s', async (_, by) => {
      const own = await sceneFor(name);

      const reply = await ask(name, own, by(own));

      expect(refusals).not.toContain(reply.body.error);
    });
  });

  describe.each(withAccess('robot', 'robot_or_session'))('%s', (name) => {
    it.each<[string, string, () => Send]>([
      ['no credential', 'missing_api_key', () => ({})],
      ['a rotated key', 'invalid_api_key', () => ({ apiKey: ended.rotatedKey })],
      ["a deleted robot's key", 'invalid_api_key', () => ({ apiKey: ended.deletedKey })],
    ])('refuses %s: %s', async (_, code, by) => {
      const reply = await ask(name, scene, by());

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe(code);
    });

    it('accepts the key of a robot', async () => {
      const own = await sceneFor(name);

      const reply = await ask(name, own, { apiKey: own.robot.apiKey });

      expect(refusals).not.toContain(reply.body.error);
    });
  });

  describe.each(withAccess('robot'))('%s', (name) => {
    it('refuses an account token', async () => {
      const reply = await ask(name, scene, { apiKey: scene.tokens.write });

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe('invalid_api_key');
    });

    it.each<[string, () => Send]>([
      ['a session', () => ({ session: scene.owner.session })],
      ["another account's session", () => ({ session: stranger.owner.session })],
      ['a logged-out session', () => ({ session: ended.loggedOut })],
      ['an expired session', () => ({ session: ended.expired })],
    ])('asks for a key where %s is sent', async (_, by) => {
      const reply = await ask(name, scene, by());

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe('missing_api_key');
    });
  });

  describe.each(withAccess('session', 'robot_or_session'))('%s', (name) => {
    it.each<[string, () => Send]>([
      ['a logged-out session', () => ({ session: ended.loggedOut })],
      ['an expired session', () => ({ session: ended.expired })],
      ['no session at all', () => ({ session: 'f'.repeat(64) })],
    ])('refuses %s', async (_, by) => {
      const reply = await ask(name, scene, by());

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe('invalid_session');
    });

    it('accepts a session', async () => {
      const own = await sceneFor(name);

      const reply = await ask(name, own, { session: own.owner.session });

      expect(refusals).not.toContain(reply.body.error);
    });
  });

  describe.each(withAccess('session', 'robot_or_session'))('%s', (name) => {
    const { method, sessionOnly }: Route = routes[name];
    const isRefused = (scope: TokenScope) =>
      sessionOnly === true || (method !== 'GET' && scope === 'read');

    it.each<TokenScope>(['read', 'write'])(
      `${method === 'GET' ? 'can be read' : 'can be changed'} as its scope allows: %s`,
      async (scope) => {
        const own = isRefused(scope) ? scene : await sceneFor(name);

        const reply = await ask(name, own, { apiKey: own.tokens[scope] });

        if (isRefused(scope)) {
          expect(reply.status).toBe(403);
          expect(reply.body.error).toBe('insufficient_scope');
        } else expect(refusals).not.toContain(reply.body.error);
      },
    );

    it.each<[string, () => Send]>([
      ['a revoked token', () => ({ apiKey: ended.revokedToken })],
      ['an expired token', () => ({ apiKey: ended.expiredToken })],
      ['no token at all', () => ({ apiKey: `svct_${'f'.repeat(40)}` })],
      ['a malformed token', () => ({ apiKey: 'svct_1' })],
      [
        'a revoked token beside a session',
        () => ({ apiKey: ended.revokedToken, session: scene.owner.session }),
      ],
    ])('refuses %s', async (_, by) => {
      const reply = await ask(name, scene, by());

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe('invalid_token');
    });
  });

  it('refuses tokens where tokens, sessions and webhooks are managed', () => {
    const refusing = rows.filter(([, { sessionOnly }]) => sessionOnly).map(([name]) => name);

    expect(refusing.sort()).toEqual([
      'createToken',
      'createWebhook',
      'decideCliSignIn',
      'deleteAccount',
      'exportAccount',
      'listSessions',
      'listTokens',
      'patchWebhook',
      'revokeSession',
      'revokeToken',
      'rotateWebhookSecret',
    ]);
  });

  describe.each(withAccess('session'))('%s', (name) => {
    it.each<[string, () => Send]>([
      ['no credential', () => ({})],
      ['a robot key', () => ({ apiKey: scene.robot.apiKey })],
      ['a rotated key', () => ({ apiKey: ended.rotatedKey })],
      ["a deleted robot's key", () => ({ apiKey: ended.deletedKey })],
    ])('asks for a session if %s calls', async (_, by) => {
      const reply = await ask(name, scene, by());

      expect(reply.status).toBe(401);
      expect(reply.body.error).toBe('missing_session');
    });
  });

  const ofAccount = rows
    .filter(([, { path, access }]) => path.includes('/:id') && access !== 'robot')
    .map(([name]) => name);

  it.each([...ofAccount, 'assignRobots', 'reorderFleets'] as RouteName[])(
    '%s finds nothing of another account',
    async (name) => {
      const reply = await ask(name, scene, { session: stranger.owner.session });

      expect(reply.status).toBe(404);
      expect(reply.body.error).toBe('not_found');
    },
  );

  it.each(rows.filter(([, { path, access }]) => path.includes('/:id') && /robot/.test(access)))(
    '%s finds no task of another robot',
    async (name) => {
      const reply = await ask(name, scene, { apiKey: stranger.robot.apiKey });

      expect(reply.status).toBe(404);
      expect(reply.body.error).toBe('not_found');
    },
  );

  it.each(
    rows.filter(
      ([, { method, path, access }]) =>
        method === 'GET' && access === 'session' && !path.includes('/:id'),
    ),
  )('%s shows nothing of another account', async (name) => {
    const { owner, robot, fleetId, taskId, sessionId, tokenId } = scene;

    const own = await ask(name, scene, { session: owner.session });
    const others = await ask(name, scene, { session: stranger.owner.session });

    expect([own.status, others.status]).toEqual([200, 200]);
    const shown = JSON.stringify(others.body);
    for (const id of [owner.wallet, robot.id, fleetId, taskId, sessionId, tokenId]) {
      expect(shown).not.toContain(id);
    }
  });

  it.each([
    ['listTasks', 'robot_id'],
    ['listEvents', 'robot_id'],
    ['getStats', 'fleet_id'],
  ] as const)('%s finds nothing of another account by its %s', async (name, filter) => {
    const id = filter === 'robot_id' ? scene.robot.id : scene.fleetId;
    const { session } = stranger.owner;

    const reply = await service.call('GET', `${routes[name].path}?${filter}=${id}`, { session });

    expect(reply.status).toBe(404);
    expect(reply.body.error).toBe('not_found');
  });

  it.each(withAccess('robot', 'session', 'robot_or_session'))(
    '%s can be called for a suspended account if it only reads',
    async (name) => {
      const { method, access, isRead }: Route = routes[name];
      const own = await makeScene();
      const by = { actor: 'operator', actor_name: 'test', source: null, at: clock.now() } as const;
      await service.store.suspendAccount(own.owner.wallet, true, by, null);

      const replies = [
        ...(access === 'session' ? [] : [await ask(name, own, { apiKey: own.robot.apiKey })]),
        ...(access === 'robot' ? [] : [await ask(name, own, { session: own.owner.session })]),
      ];

      for (const { status, body } of replies) {
        if (method === 'GET' || isRead)
          expect([...refusals, 'account_suspended']).not.toContain(body.error);
        else expect([status, body.error]).toEqual([403, 'account_suspended']);
      }
    },
  );

  it('leaves everything of an account unchanged after all these calls', async () => {
    const { session } = scene.owner;
    const [robots, fleets, tasks] = await Promise.all(
      ['robots', 'fleets', 'tasks'].map((what) =>
        service.call('GET', `/api/v1/${what}`, { session }),
      ),
    );

    expect(robots?.body.items[0]).toMatchObject({ name: 'arm-1', fleet_id: null });
    expect(fleets?.body.items).toMatchObject([{ name: 'North', robot_count: 0 }]);
    expect(tasks?.body.items).toMatchObject([{ id: scene.taskId, status: 'claimed' }]);
  });

  describe.each(
    rows
      .filter(([, { method, access }]) => method !== 'GET' && access !== 'robot')
      .map(([name]) => name),
  )('%s', (name) => {
    it.each(['https://evil.test', 'null', 'http://sub.127.0.0.1', ''])(
      'is refused from Origin %j',
      async (origin) => {
        const reply = await ask(name, scene, {
          session: scene.owner.session,
          headers: { origin },
        });

        expect(reply.status).toBe(403);
        expect(reply.body.error).toBe('forbidden_origin');
      },
    );
  });
});
