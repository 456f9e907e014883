// Calls a running Switchboard with the official client. BASE is where, KEY a token; each step has a path of its own below BASE.
// Prints one line of JSON a step: {"step", "text", …}.
import OpenAI, { APIUserAbortError, AuthenticationError } from 'openai';

const { BASE, KEY } = process.env;
const client = (step, more = {}) => new OpenAI({ apiKey: KEY, baseURL: `${BASE}/${step}/v1`, maxRetries: 0, ...more });
const say = (step, result) => console.log(JSON.stringify({ step, ...result }));
const ask = (text) => ({ model: 'switchboard', messages: [{ role: 'user', content: text }] });
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const models = [];
for await (const model of client('list').models.list()) models.push(model.id);
say('list', { text: models.join(' ') });

const whole = await client('complete').chat.completions.create(ask('hello'));
say('complete', { text: whole.choices[0].message.content, finish: whole.choices[0].finish_reason, tokens: whole.usage.total_tokens });

const pieces = await client('stream').chat.completions.create({
  ...ask('run echo hi'), stream: true, stream_options: { include_usage: true },
});
let text = '', finish, tokens;
for await (const chunk of pieces) {
  text += chunk.choices[0]?.delta?.content ?? '';
  finish = chunk.choices[0]?.finish_reason ?? finish;
  tokens = chunk.usage?.total_tokens ?? tokens;
}
say('stream', { text, finish, tokens });

const seen = await client('image').chat.completions.create({
  model: 'switchboard',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'what is this?' }, { type: 'image_url', image_url: { url: picture } }] }],
});
say('image', { text: seen.choices[0].message.content });

try {
  await client('key', { apiKey: 'wrong' }).models.list();
} catch (err) {
  say('key', { text: err instanceof AuthenticationError ? 'refused' : String(err), status: err.status, code: err.code });
}

const leaving = new AbortController();
try {
  const left = await client('abort').chat.completions.create({ ...ask('wait'), stream: true }, { signal: leaving.signal });
  for await (const chunk of left) {
    leaving.abort();
  }
  say('abort', { text: 'left' });
} catch (err) {
  say('abort', { text: err instanceof APIUserAbortError ? 'left' : String(err) });
}

// The connection of the first try is lost: the client sends the call again by itself.
const again = await client('retry', { maxRetries: 2 }).chat.completions.create(ask('once'));
say('retry', { text: again.choices[0].message.content });
