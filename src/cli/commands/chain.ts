// `svc chain`: the service's anchoring network.
import type { CommandSpec } from '../program/command.ts';

export const chainCommand: CommandSpec = {
  path: 'chain',
  summary: 'Show the chain on which the service anchors',
  options: [
    {
      flags: '--add-to-wallet-json',
      summary: 'print only the parameter of wallet_addEthereumChain (EIP-3085)',
    },
  ],
  examples: [
    'svc chain',
    'svc chain --add-to-wallet-json',
    'svc chain --url https://svc.example.org',
  ],
  /** Needs no session. */
  async run({ target, client, output }, { addToWalletJson }: { addToWalletJson?: true }) {
    const { url } = await target();
    const { body } = await client(url).call('getChain');
    if (addToWalletJson) return output.json(body.params);
    const { nativeCurrency, rpcUrls } = body.params;
    await output.record(body, [
      ['chain_id', body.chain_id],
      ['name', body.name],
      ['testnet', body.testnet ? 'yes' : 'no'],
      ['currency', `${nativeCurrency.name} (${nativeCurrency.symbol})`],
      ['explorer_url', body.explorer_url],
      ['rpc_urls', rpcUrls.join(' ')],
      ['anchor_addresses', body.anchor_addresses.join(' ')],
    ]);
  },
};
