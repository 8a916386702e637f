// What is wrong with how a page looks, as an array of sentences; run inside the page.
(() => {
  const wrong = [];
  const width = document.documentElement.clientWidth;
  const named = (element) => {
    const place = element.closest('[id]');
    const text = (element.textContent || element.getAttribute('aria-label') || '').trim();
    return `${element.tagName.toLowerCase()} "${text.slice(0, 40)}"` +
        (place ? ` in #${place.id}` : '');
  };
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility === 'visible';
  };
  const scrolls = (element) => {
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      if (/auto|scroll|hidden/.test(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };
  const own = (element) =>
      [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());

  // Nothing is wider than the window but what scrolls in a box of its own.
  if (document.documentElement.scrollWidth > width) {
    wrong.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  }
  for (const element of document.body.querySelectorAll('*')) {
    if (element.closest('svg') && element.tagName !== 'svg') continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || (box.right <= width + 1 && box.left >= -1)) continue;
    if (!scrolls(element.parentElement)) wrong.push(`${named(element)} overflows the window`);
  }

  // No text lies on another one, within a drawing, and between headings and what follows them.
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
  // Glyphs fill the middle of a line's box only.
  const inked = (element) => {
    const box = element.getBoundingClientRect();
    const spare = Math.min(box.height, box.width) * 0.15;
    return {left: box.left, right: box.right, top: box.top + spare, bottom: box.bottom - spare};
  };
  for (const drawing of document.querySelectorAll('svg.chart')) {
    if (!shown(drawing)) continue;
    const frame = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll('text')].filter((text) => text.textContent.trim());
    for (const [place, text] of texts.entries()) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 2 ||
          box.bottom > frame.bottom + 2) {
        wrong.push(`${named(text)} leaves its drawing`);
      }
      for (const other of texts.slice(place + 1)) {
        if (meet(inked(text), inked(other))) wrong.push(`${named(text)} lies on ${named(other)}`);
      }
    }
  }
  for (const heading of document.querySelectorAll('h1,h2,h3,h4,figcaption,.legend')) {
    const next = heading.nextElementSibling;
    if (next && shown(heading) && shown(next) &&
        meet(heading.getBoundingClientRect(), next.getBoundingClientRect())) {
      wrong.push(`${named(heading)} lies on ${named(next)}`);
    }
  }
  let level = 0;
  for (const heading of document.querySelectorAll('h1,h2,h3,h4')) {
    const own_level = Number(heading.tagName[1]);
    if (own_level > level + 1) wrong.push(`${named(heading)} leaves out a level of headings`);
    level = own_level;
  }

  // Every image says what it shows.
  for (const image of document.querySelectorAll('img,svg')) {
    if (image.closest('[aria-hidden=true]') || image.closest('svg') !== image) continue;
    const says = image.getAttribute('alt') || image.getAttribute('aria-label') || '';
    if (says.trim().length < 8) wrong.push(`${named(image)} has no alternative text`);
  }

  // Text has a contrast of 4.5 with what is behind it.
  const channels = (colour) => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    return {rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1};
  };
  const luminance = ({rgb}) => {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.alpha === 1) return colour;
    }
    return channels('rgb(255, 255, 255)');
  };
  const told = new Set();
  for (const element of document.body.querySelectorAll('*')) {
    if (!own(element) || !shown(element) || element.closest('script,style,title')) continue;
    // What a letter stands on is a part's colour, held by a unit test.
    if (element.classList.contains('letter')) continue;
    const style = getComputedStyle(element);
    const ink = channels(element.closest('svg') ? style.fill : style.color);
    const [high, low] = [luminance(ink), luminance(ground(element))].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    const kind = `${element.tagName}.${element.className.baseVal ?? element.className}`;
    if (contrast < 4.5 && !told.has(kind)) {
      told.add(kind);
      wrong.push(`${named(element)} has a contrast of ${contrast.toFixed(2)}`);
    }
  }
  return wrong;
})()
