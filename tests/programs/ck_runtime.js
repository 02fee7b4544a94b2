// Workers, timers, the thread pool; checks itself.
const { Worker, isMainThread, parentPort } = require('worker_threads');
const crypto = require('crypto');
const fs = require('fs');

const WANTED = 3000;
if (isMainThread) {
  let answers = 0, ticks = 0, done = false;
  const timer = setInterval(() => ticks++, 2);
  const workers = [];
  const finish = () => {
    if (done) return;
    done = true;
    clearInterval(timer);
    workers.forEach((w) => w.terminate());
    console.log(answers >= WANTED && ticks > 0);
  };
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename);
    worker.on('message', async (length) => {
      if (length !== 64) process.exit(1);
      answers++;
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
