import { readFileSync } from 'node:fs';
import solc from 'solc';
import type { Abi, Hex } from 'viem';

export interface Compiled {
  abi: Abi;
  bytecode: Hex;
}

interface Output {
  errors?: { formattedMessage: string }[];
  contracts: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
}

const repository = new URL('../../', import.meta.url);

/**
 * Compiles one Solidity file of the repository, `path` from its root, with what it imports, with the
 * optimizer as integrators run it. A warning is an error too. Answers the contracts of that file by name.
 */
export function compileSolidity(path: string): Record<string, Compiled> {
  const input = {
    language: 'Solidity',
    sources: { [path]: { content: sourceOf(path) } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const findImport = (imported: string) => ({ contents: sourceOf(imported) });
  const output: Output = JSON.parse(solc.compile(JSON.stringify(input), { import: findImport }));
  const faults = output.errors?.map(({ formattedMessage }) => formattedMessage) ?? [];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const contracts = Object.entries(output.contracts[path] ?? {});
  return Object.fromEntries(
    contracts.map(([name, { abi, evm }]) => [
      name,
      { abi, bytecode: `0x${evm.bytecode.object}` as const },
    ]),
  );
}

function sourceOf(path: string): string {
  return readFileSync(new URL(path, repository), 'utf8');
}
