// Builds the page into crates/web/assets, compressed as it is served.
//   node build.mjs           writes the files
//   node build.mjs --check   says whether the files there are those of the sources

import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { gunzipSync, gzipSync } from "node:zlib";

const out = new URL("../crates/web/assets/", import.meta.url);
const source = (name) => new URL(`src/${name}`, import.meta.url);

async function bundle(entry, minify, external = []) {
  const result = await build({
    entryPoints: [source(entry).pathname],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "inline",
    minify,
    external,
  });
  return result.outputFiles[0].contents;
}

const files = {
  "page.html": await readFile(source("page.html")),
  "page.css": await readFile(source("page.css")),
  "icon.svg": await readFile(source("icon.svg")),
  // Graphviz is a file of its own: the page's code changes more often.
  "page.js": await bundle("page.ts", true, ["./viz.js"]),
  "viz.js": await bundle("viz.ts", true),
};

// Compressed bytes may differ between versions of zlib; what matters is what is in them.
const same = async (name, content) => {
  try {
    return gunzipSync(await readFile(new URL(`${name}.gz`, out))).equals(Buffer.from(content));
  } catch {
    return false;
  }
};

const check = process.argv.includes("--check");
await mkdir(out, { recursive: true });
for (const [name, content] of Object.entries(files)) {
  if (await same(name, content)) continue;
  if (check) {
    console.error(`crates/web/assets/${name}.gz is not what web/src gives: run make web`);
    process.exitCode = 1;
  } else {
    await writeFile(new URL(`${name}.gz`, out), gzipSync(content, { level: 9 }));
    console.log(`${name}.gz`);
  }
}
