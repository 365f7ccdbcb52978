import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import { cookieOf, newWallet, startTestService, type TestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A signature that only a contract can judge. */
const APPROVAL = `0x${'12'.repeat(100)}`;

/** A signature that no wallet and no contract may be asked about: its s is too high. */
const HIGH_S = `0x${'11'.repeat(32)}${'ff'.repeat(32)}1b`;

function openGate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** What anonymous callers send must not keep the owner of a wallet from signing in. */
describe('anonymous callers', () => {
  const clock = createTestClock();
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ clock, trustedProxies: ['127.0.0.1'] });
  });
  afterAll(() => service.close());

  const from = (source: string) => ({ 'x-forwarded-for': source });

  function challenge(address: string, source: string, cookie?: string) {
    return service.call('POST', '/api/auth/challenge', {
      body: { address },
      headers: from(source),
      ...(cookie !== undefined && { cookie }),
    });
  }

  function verify(address: string, signature: string, source: string, cookie?: string) {
    return service.call('POST', '/api/auth/verify', {
      body: { address, signature },
      headers: from(source),
      ...(cookie !== undefined && { cookie }),
    });
  }

  it('displace no challenge of an owner who returns neither cookie nor message', async () => {
    const owner = newWallet();
    const asked = await challenge(owner.address, '192.0.2.1');
    for (let i = 0; i < 20; i += 1) await challenge(owner.address, '192.0.2.2');

    const signature = await owner.signMessage({ message: asked.body.message });
    const reply = await verify(owner.address, signature, '192.0.2.1');

    expect(reply.body.signed_in).toBe(true);
  });

  it('of the same source displace none of an owner who returns the cookie', async () => {
    const owner = newWallet();
    const asked = await challenge(owner.address, '192.0.2.1');
    for (let i = 0; i < 20; i += 1) await challenge(owner.address, '192.0.2.1');

    const signature = await owner.signMessage({ message: asked.body.message });
    const cookie = `svc_challenge=${cookieOf(asked, 'svc_challenge')}`;
    const reply = await verify(owner.address, signature, '192.0.2.1', cookie);

    expect(reply.body.signed_in).toBe(true);
  });

  it('use up no challenge request of a device on which the wallet signed in', async () => {
    const owner = newWallet();
    const asked = await challenge(owner.address, '192.0.2.1');
    const signature = await owner.signMessage({ message: asked.body.message });
    const signedIn = await verify(owner.address, signature, '192.0.2.1');
    const device = `svc_device=${cookieOf(signedIn, 'svc_device')}`;
    for (let i = 0; i < 60; i += 1) await challenge(owner.address, '192.0.2.2');

    const known = await challenge(owner.address, '192.0.2.1', device);
    const unknown = await challenge(owner.address, '192.0.2.1');
    const other = newWallet();
    for (let i = 0; i < 60; i += 1) await challenge(other.address, '192.0.2.2');
    const ofOther = await challenge(other.address, '192.0.2.1', device);

    expect([known.status, unknown.status, ofOther.status]).toEqual([200, 429, 429]);
  });

  it('share a source by IPv4 address and by /56 of IPv6', async () => {
    const owner = newWallet();
    const signIn = async (asking: string, verifying: string) => {
      const { body } = await challenge(owner.address, asking);
      const signature = await owner.signMessage({ message: body.message });
      return (await verify(owner.address, signature, verifying)).status;
    };

    expect(await signIn('2001:db8:0:aa01::1', '2001:db8:0:aaff:2::')).toBe(200);
    expect(await signIn('::ffff:192.0.2.7', '192.0.2.7')).toBe(200);
    expect(await signIn('2001:db8:0:aa01::1', '2001:db8:0:ab01::1')).toBe(401);
    expect(await signIn('192.0.2.7', '192.0.2.8')).toBe(401);
  });

  it('delay another source by 8 checks of a signature, whatever the number of their challenges', async () => {
    const { recoverWallet } = service.chain;
    const { openChallenges } = service.store;
    const gate = openGate();
    const checked: string[] = [];
    service.chain.recoverWallet = async (message) => {
      checked.push(message);
      await gate.opened;
      return null;
    };
    const looked: string[] = [];
    service.store.openChallenges = async (wallet, source) => {
      const found = await openChallenges(wallet, source);
      looked.push(wallet);
      return found;
    };
    onTestFinished(() => {
      service.chain.recoverWallet = recoverWallet;
      service.store.openChallenges = openChallenges;
    });
    const [stranger, owner] = [newWallet(), newWallet()];
    for (let i = 0; i < 60; i += 1) await challenge(stranger.address, '192.0.2.1');
    const { message } = (await challenge(owner.address, '192.0.2.2')).body;

    const attack = verify(stranger.address, HIGH_S, '192.0.2.1');
    await waitFor('the first check', () => checked.length > 0);
    const another = verify(owner.address, HIGH_S, '192.0.2.2');
    await waitFor('the other to wait', () => looked.length === 2);
    gate.open();
    await Promise.all([attack, another]);

    expect(checked).toHaveLength(61);
    expect(checked.indexOf(message)).toBe(8);
  });

  it('of one source wait for each other and are limited, without delaying another source', async () => {
    const { recoverWallet } = service.chain;
    const gate = openGate();
    service.chain.recoverWallet = async () => {
      await gate.opened;
      return null;
    };
    onTestFinished(() => {
      service.chain.recoverWallet = recoverWallet;
    });
    const owner = newWallet();
    await challenge(owner.address, '192.0.2.1');
    await challenge(owner.address, '192.0.2.2');

    // One is recovered and 512 wait; the others are refused at once.
    let refused = 0;
    const flood = Array.from({ length: 518 }, async () => {
      const { body } = await verify(owner.address, HIGH_S, '192.0.2.1');
      if (body.error === 'overloaded') refused += 1;
      return body.error;
    });
    await waitFor('the flood to wait', () => refused === 5);
    const another = verify(owner.address, HIGH_S, '192.0.2.2');
    gate.open();

    expect((await another).body.error).toBe('invalid_signature');
    const codes = await Promise.all(flood);
    expect(codes.filter((code) => code === 'invalid_signature')).toHaveLength(513);
  });

  it('verify in turns by source, and a session counts against no address', async () => {
    const { findPublicAnchor } = service.store;
    const gate = openGate();
    const held = `0x${'ab'.repeat(32)}`;
    service.store.findPublicAnchor = async (hash, taskId) => {
      if (hash === held) await gate.opened;
      return findPublicAnchor(hash, taskId);
    };
    onTestFinished(() => {
      service.store.findPublicAnchor = findPublicAnchor;
    });
    const { session } = await service.signIn();
    const verifyHash = (hash: string, source: string, members = {}) =>
      service.call('GET', `/api/v1/verify/${hash}`, { headers: from(source), ...members });
    expect((await service.call('GET', '/api/v1/me', { session })).status).toBe(200);

    // 64 are read and 512 wait; the others are refused at once.
    const codes: string[] = [];
    const flood = Array.from({ length: 581 }, async () => {
      const { status, body } = await verifyHash(held, '192.0.2.1');
      codes.push(`${status} ${body.error}`);
    });
    await waitFor('the flood to wait', () => codes.length === 5);
    expect(codes).toEqual(Array(5).fill('503 overloaded'));
    const page = await service.call('GET', `/verify/${held}`, { headers: from('192.0.2.1') });
    expect(page.status).toBe(503);
    const other = `0x${'cd'.repeat(32)}`;
    expect((await verifyHash(other, '192.0.2.2')).status).toBe(404);
    expect((await verifyHash(other, '192.0.2.1', { session })).status).toBe(404);
    gate.open();
    await Promise.all(flood);

    expect(codes.filter((code) => code === '404 not_found')).toHaveLength(576);
  });

  it('wait with unknown keys, while robots of the same address are answered', async () => {
    const { robot } = await service.signInWithRobot();
    const { authenticateRobot } = service.store;
    const gate = openGate();
    const known = (apiKey: string, source: string) =>
      service.call('GET', '/api/v1/robot', { apiKey, headers: from(source) });
    expect((await known(robot.apiKey, '192.0.2.1')).status).toBe(200);
    const { robot: fresh } = await service.signInWithRobot();
    let held = 0;
    service.store.authenticateRobot = async (keyHash) => {
      const found = await authenticateRobot(keyHash);
      if (found !== null) return found;
      held += 1;
      await gate.opened;
      return null;
    };
    onTestFinished(() => {
      service.store.authenticateRobot = authenticateRobot;
    });

    const codes: string[] = [];
    const flood = Array.from({ length: 533 }, async (_, i) => {
      const { body } = await known(`svc_${String(i).padStart(40, '0')}`, '192.0.2.1');
      codes.push(body.error);
    });
    await waitFor('the flood to wait', () => held === 16);
    expect((await known(robot.apiKey, '192.0.2.1')).status).toBe(200);
    expect((await known(fresh.apiKey, '192.0.2.2')).status).toBe(200);
    gate.open();
    await Promise.all(flood);

    // Nothing is refused: it could be the robots of one address after a restart of the server.
    expect(codes).toEqual(Array(533).fill('invalid_api_key'));
  });

  it('cause no work with a signature that was used or has expired', async () => {
    const owner = newWallet();
    const used = await challenge(owner.address, '192.0.2.1');
    const signatures = [await owner.signMessage({ message: used.body.message })];
    await verify(owner.address, signatures[0] ?? '', '192.0.2.1');
    const expired = await challenge(owner.address, '192.0.2.1');
    signatures.push(await owner.signMessage({ message: expired.body.message }));
    clock.advance(600_000);
    const { recoverWallet } = service.chain;
    let recovered = 0;
    service.chain.recoverWallet = async (...args) => {
      recovered += 1;
      return recoverWallet(...args);
    };
    onTestFinished(() => {
      service.chain.recoverWallet = recoverWallet;
    });

    const codes = [];
    for (const [i, asked] of [used, expired].entries()) {
      const cookie = `svc_challenge=${cookieOf(asked, 'svc_challenge')}`;
      codes.push(
        (await verify(owner.address, signatures[i] ?? '', '192.0.2.2', cookie)).body.error,
      );
    }

    expect(codes).toEqual(['invalid_signature', 'invalid_signature']);
    expect(recovered).toBe(0);
  });

  it('cause one contract call at a time each, and four together', async () => {
    const { isContractSignature } = service.chain;
    let [calling, most] = [0, 0];
    const gate = openGate();
    service.chain.isContractSignature = async () => {
      calling += 1;
      most = Math.max(most, calling);
      await gate.opened;
      calling -= 1;
      return false;
    };
    onTestFinished(() => {
      service.chain.isContractSignature = isContractSignature;
    });
    const contract = newWallet();
    const sources = Array.from({ length: 12 }, (_, i) => `192.0.2.${10 + (i % 6)}`);
    for (const source of new Set(sources)) await challenge(contract.address, source);

    const replies = sources.map((source) => verify(contract.address, APPROVAL, source));
    await waitFor('four contracts to be called', () => calling === 4);
    gate.open();
    await Promise.all(replies);

    expect(most).toBe(4);
  });
});
