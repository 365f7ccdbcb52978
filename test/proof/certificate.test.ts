import { describe, expect, it } from 'vitest';
import {
  type Certificate,
  certificateDocument,
  certificateNumber,
} from '../../src/proof/subject/certificate.ts';

const hash = (digit: string) => `0x${digit.repeat(64)}`;

const certificate: Certificate = {
  result: 'verified',
  verdict: ['This evidence has not changed since 29 November 2026, 10:00 UTC (block time).'],
  checkedAt: '2026-11-30T08:30:00.000Z',
  stated: {
    chain_id: 31337,
    proof_hash: hash('a'),
    task_id: '01a22730-a93c-73b4-a6a8-f0fba1f93960',
    robot_id: '01a22730-a93c-73b4-a6a8-f0fba1f93961',
    claim_hash: hash('b'),
    statement_hash: null,
    inclusion: null,
    tx_hash: hash('c'),
    block_number: '17',
    anchored_at: '2026-11-29T11:00:05+01:00',
    from: `0x${'d'.repeat(40)}`,
  },
  blockHash: hash('e'),
  claim: { title: 'Pick <b>4711</b>', description: null, expected_result: { boxes: 12 } },
  proof: { note: '"><script>alert(1)</script>' },
  unproven: { robot_name: 'picker & co' },
  issuer: 'named by --anchor-address',
  accounts: [`0x${'d'.repeat(40)}`],
  checks: [{ ok: true, detail: 'The calldata holds the proof hash' }],
  notProven: ['That what the evidence says is true.'],
  command: 'svc verify bundle.json --rpc-url URL',
  address: 'https://svc.example/verify/0xaa?task_id=1&x="2"',
};

const text = certificateDocument(certificate, { size: 1, data: [1] });

describe('a certificate', () => {
  it.each([
    ['its number', '31337-17-aaaaaaaa-a1f93960'],
    ['claim and expected result', '&#34;boxes&#34;: 12'],
    ['the proof hash', hash('a')],
    ['the block hash', hash('e')],
    ['the account of the issuer', 'named by --anchor-address'],
    ['the checks', '✔ The calldata holds the proof hash'],
    ['what it does not prove', 'That what the evidence says is true.'],
    ['statements that nothing proves', 'Stated, not proven: robot name “picker &#38; co”.'],
    ['the command', 'svc verify bundle.json --rpc-url URL'],
    ['a QR code', '<path d="M0 0h1v1h-1z"/>'],
  ])('has %s', (_, part) => {
    expect(text).toContain(part);
  });

  it('has times of one zone in one format', () => {
    expect(text).toContain('<dd>29 November 2026, 10:00:05 UTC</dd>');
    expect(text).toContain('<dd>30 November 2026, 08:30:00 UTC</dd>');
    expect(text).not.toMatch(/\d{4}-\d{2}-\d{2}T/);
  });

  it('escapes what others wrote', () => {
    expect(text).not.toMatch(/<b>|<script>|x="2"/);
  });

  it('refers to no other file', () => {
    expect(text).not.toMatch(/<link|src=|url\(|@import/);
  });

  it('has one number for one anchor', () => {
    expect(certificateNumber(certificate.stated)).toBe('31337-17-aaaaaaaa-a1f93960');
  });

  it('says in its heading that a proof is not verified', () => {
    const refused = certificateDocument({ ...certificate, result: 'refuted' }, null);
    expect(refused).toContain('<h1>Not verified</h1>');
    expect(refused).not.toContain('Certificate of an anchored proof');
  });
});
