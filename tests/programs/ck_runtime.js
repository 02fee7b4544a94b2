// Workers, timers, the thread pool; checks itself. Writes marks while it works,
// and then until its input is at its end.
const { Worker, isMainThread, parentPort } = require('worker_threads');
const crypto = require('crypto');
const fs = require('fs');

const WANTED = 3000;
if (isMainThread) {
  let answers = 0, ticks = 0, done = false;
  const timer = setInterval(() => ticks++, 2);
  const workers = [];
  const mark = () => fs.writeSync(1, '.');
  const atEnd = () => {
    try {
      return fs.readSync(0, Buffer.alloc(1)) === 0;
    } catch (e) {
      if (e.code !== 'EAGAIN') throw e;
      return false;
    }
  };
  const finish = () => {
    if (done) return;
    if (!atEnd()) {
      mark();
      setTimeout(finish, 1);
      return;
    }
    done = true;
    clearInterval(timer);
    workers.forEach((w) => w.terminate());
    console.log();
    console.log(answers >= WANTED && ticks > 0);
  };
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename);
    worker.on('message', async (length) => {
      if (length !== 64) process.exit(1);
      if (++answers % 20 === 0) mark();
      await fs.promises.readFile(__filename);
      crypto.pbkdf2('x', 'y', 50, 32, 'sha256', () =>
        answers < WANTED ? worker.postMessage(answers) : finish());
    });
    workers.push(worker);
    worker.postMessage(0);
  }
} else {
  parentPort.on('message', (m) =>
    parentPort.postMessage(crypto.createHash('sha256').update(String(m)).digest('hex').length));
}
