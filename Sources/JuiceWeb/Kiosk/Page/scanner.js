// A barcode scanner types like a keyboard, but faster than people do, and ends with Enter. This page takes no input from it, except
// for the staff's secret, which may be on a badge.

// In milliseconds from one key to the next, and in keys.
const fastest = 35;
const shortest = 6;
let scan = { length: 0 };

addEventListener("keydown", (event) => {
  const { key, target, repeat, timeStamp: at } = event;
  // Shift comes between the keys.
  if (key.length > 1 && key !== "Enter") return;
  const isField = target.matches("input");
  const isNext = scan.length > 0 && scan.target === target && at - scan.at < fastest;
  if (key === "Enter" && isNext && scan.length >= shortest && target.id !== "token") {
    event.preventDefault();
    if (isField) {
      target.value = scan.value;
      target.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  // Text in a field may have been put there on purpose.
  const isPart = !repeat && key !== "Enter" && (!isField || /\d/.test(key));
  scan = { target, at, length: isPart ? 1 + (isNext ? scan.length : 0) : 0, value: isNext ? scan.value : target.value };
}, true);
