// `npm run release`: makes the files of a release in `release/`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';

const help = `npm run release -- [--dry-run] [--out FOLDER] [--base IMAGE] [--no-image]

Writes to FOLDER (default: release): the notes of the version from CHANGELOG.md, the packages robot-svc and
robot-svc-client, the Python client, the SBOM, the image and SHA256SUMS. Two runs give the same packages. .github/workflows/release.yml publishes it.

  --dry-run      make them although the version or the working tree is not ready for a release
  --base IMAGE   base of the image (default: the one of deploy/Containerfile)
  --no-image     makes no image; without buildah there is none either

Without python3-build, the release has no Python client.

buildah reads BUILDAH_ISOLATION and STORAGE_DRIVER from the environment.
`;

const root = path.join(import.meta.dirname, '..');
const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    base: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    image: { type: 'boolean', default: true },
    out: { type: 'string', default: 'release' },
  },
});
if (options.help) process.stdout.write(help);
else await release();

async function release() {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const { name, version } = manifest;
  const { notes, isDated } = changelogOf(version);
  if (!options['dry-run']) requireReady(manifest, isDated);
  const out = path.resolve(options.out);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });

  writeFileSync(path.join(out, 'NOTES.md'), notes);
  for (const step of ['clean', 'build', 'stage']) run('npm', ['run', '--silent', step]);
  for (const folder of ['./dist/package', './dist/client-package']) {
    run('npm', ['pack', '--silent', '--pack-destination', out, folder]);
  }
  buildPython(out);
  const tarball = path.join(out, `${name}-${version}.tgz`);
  copyFileSync(
    path.join(root, 'dist/sbom.cdx.json'),
    path.join(out, `${name}-${version}.cdx.json`),
  );
  await buildImage(tarball, path.join(out, `svc-server-${version}.tar.gz`), version);
  writeSums(out);
  process.stdout.write(`${version}, in ${out}:\n${readFileSync(path.join(out, 'SHA256SUMS'))}`);
}

/** Builds sdist and wheel of the Python client, from a copy of its sources. @param {string} out */
function buildPython(out) {
  if (!isInstalled('pyproject-build')) {
    process.stderr.write('NO PYTHON CLIENT: python3-build is not on this machine\n');
    return;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-python-'));
  try {
    cpSync(path.join(root, 'clients/python'), folder, { recursive: true });
    // npm gives every file in a package this date.
    const build = ['pyproject-build', '--no-isolation', '--outdir', out, folder];
    run('env', ['SOURCE_DATE_EPOCH=499162500', ...build]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} version */
function changelogOf(version) {
  const text = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8');
  const sections = text.split(/^(?=## )/m);
  const notes = sections.find((section) => section.startsWith(`## ${version} `));
  if (notes === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`);
  return { notes, isDated: /^## \S+ \(\d{4}-\d\d-\d\d\)$/m.test(notes) };
}

/** @param {{ version: string, repository?: unknown }} manifest @param {boolean} isDated */
function requireReady({ version, repository }, isDated) {
  if (repository === undefined) {
    throw new Error(
      'package.json has no `repository`, which npm provenance needs: CONTRIBUTING.md',
    );
  }
  if (!isDated) throw new Error(`CHANGELOG.md has no date for ${version}, such as (2026-11-25)`);
  if (execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' }) !== '') {
    throw new Error('The working tree has changes that are not committed');
  }
}

/** @param {string} tarball @param {string} target @param {string} version */
async function buildImage(tarball, target, version) {
  if (!options.image) return;
  if (!isInstalled('buildah')) {
    process.stderr.write('NO IMAGE: buildah is not on this machine (apt-get install buildah)\n');
    return;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-image-'));
  try {
    const image = `svc-server:${version}`;
    copyFileSync(tarball, path.join(folder, path.basename(tarball)));
    const base = options.base === undefined ? [] : ['--build-arg', `BASE=${options.base}`];
    // Docker's format has the health check.
    const args = ['--format', 'docker', '--quiet', '--tag', image, ...base];
    run('buildah', ['bud', ...args, '-f', path.join(root, 'deploy/Containerfile'), folder]);
    const archive = path.join(folder, 'image.tar');
    run('buildah', ['push', '--quiet', image, `docker-archive:${archive}:${image}`]);
    await pipeline(createReadStream(archive), createGzip(), createWriteStream(target));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} program */
function isInstalled(program) {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.some((folder) => existsSync(path.join(folder, program)));
}

/** @param {string} out */
function writeSums(out) {
  const lines = readdirSync(out)
    .sort()
    .map((file) => {
      const bytes = readFileSync(path.join(out, file));
      return `${createHash('sha256').update(bytes).digest('hex')}  ${file}\n`;
    });
  writeFileSync(path.join(out, 'SHA256SUMS'), lines.join(''));
}

/** @param {string} program @param {string[]} args */
function run(program, args) {
  execFileSync(program, args, { cwd: root, stdio: ['ignore', 2, 'inherit'] });
}
