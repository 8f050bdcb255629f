// What the browser keeps for the page. It may keep nothing, run out of room, or hold something else under these names: then
// the page has it for as long as it is open, and nothing here throws.

// What a step results in; null if it throws, as even naming a blocked area does.
export const attempt = (step) => { try { return step(); } catch { return null; } };

const storage = (area) => ({
  read: (name) => attempt(() => window[area].getItem(name)),
  // Only changes: the more is written, the later it is on disk. Without room for the new text, the old one must not come back: a
  // basket that was ordered would be there again.
  write: (name, text) => attempt(() => {
    if (window[area].getItem(name) === text) return;
    try { window[area].setItem(name, text); } catch { window[area].removeItem(name); }
  }),
  clear: () => attempt(() => window[area].clear()),
});

// Until the next visit, and until the tab is closed.
export const [browser, tab] = [storage("localStorage"), storage("sessionStorage")];
export const forgetAll = () => { for (const area of [browser, tab]) area.clear(); };

// Lists begin with it. Whatever does not was not written by this version of the page.
const mark = "juice 1 ";

export const keep = (name, list, area = tab) => area.write(name, mark + JSON.stringify(list));

export function restored(name, area = tab) {
  const text = area.read(name) ?? "";
  return text.startsWith(mark) ? JSON.parse(text.slice(mark.length)) : [];
}
