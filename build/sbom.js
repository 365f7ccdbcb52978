// Writes dist/sbom.cdx.json: the packages inside the bundles, as a CycloneDX document. Two builds of the same lockfile
// give the same file, so the document has no time, and its serial number is derived from its content.
import { readFileSync, writeFileSync } from 'node:fs';
import { v5 } from 'uuid';

const bundles = ['cli', 'dashboard', 'library', 'programs'];

/** @param {string} file */
const read = (file) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));

const manifest = read('package.json');
/** @type {Map<string, string | undefined>} */
const integrities = new Map(
  Object.entries(read('package-lock.json').packages).map(([folder, { version, integrity }]) => [
    `${folder.split('node_modules/').at(-1)}@${version}`,
    integrity,
  ]),
);

/** @param {string} name @param {string} version */
const purl = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** @param {string} expression of SPDX */
function licenses(expression) {
  const isExpression = /[ ()]/.test(expression);
  return [isExpression ? { expression } : { license: { id: expression } }];
}

/** @type {Map<string, { properties: object[] }>} */
const components = new Map();
for (const bundle of bundles) {
  const file = `../dist/${bundle}/third-party-licenses.txt`;
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  for (const [, name = '', version = '', license = ''] of text.matchAll(
    /^== (\S+) (\S+) \((.+)\)$/gm,
  )) {
    const ref = purl(name, version);
    const integrity = integrities.get(`${name}@${version}`);
    if (integrity === undefined) throw new Error(`The lockfile has no ${name}@${version}`);
    const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
    const component = components.get(ref) ?? {
      type: 'library',
      'bom-ref': ref,
      name,
      version,
      licenses: licenses(license),
      purl: ref,
      hashes: [{ alg: 'SHA-512', content }],
      properties: /** @type {object[]} */ ([]),
    };
    component.properties.push({ name: 'robot-svc:bundle', value: `dist/${bundle}` });
    components.set(ref, component);
  }
}

const ref = purl(manifest.name, manifest.version);
const refs = [...components.keys()].sort();
const content = {
  metadata: {
    component: {
      type: 'application',
      'bom-ref': ref,
      name: manifest.name,
      version: manifest.version,
      licenses: licenses(manifest.license),
      purl: ref,
    },
  },
  components: refs.map((each) => components.get(each)),
  dependencies: [{ ref, dependsOn: refs }],
};
const document = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  serialNumber: `urn:uuid:${v5(JSON.stringify(content), v5.URL)}`,
  version: 1,
  ...content,
};
writeFileSync(new URL('../dist/sbom.cdx.json', import.meta.url), `${JSON.stringify(document)}\n`);
