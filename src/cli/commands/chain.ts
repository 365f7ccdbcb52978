import type { Context } from '../program/context.ts';

/** `svc chain`: needs no session. */
export async function chain(
  { target, client, output }: Context,
  { addToWalletJson }: { addToWalletJson?: true },
): Promise<void> {
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
}
