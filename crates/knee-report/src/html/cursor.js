// One cursor for all charts over time: a line at the same moment in each, and the figures of that moment in words.
//
// Adds to a page that is complete without it. Calculates no figure: the words of each moment are in the page.
(() => {
  const moments = JSON.parse(document.getElementById("knee-moments").textContent);
  const charts = [...document.querySelectorAll("svg[data-end]")];
  if (moments.length < 2 || charts.length === 0) return;

  const lines = charts.map((chart) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("class", "cursor");
    chart.append(line);
    return line;
  });

  const bar = document.createElement("form");
  const label = document.createElement("label");
  const slider = document.createElement("input");
  const words = document.createElement("output");
  bar.className = "moment";
  bar.setAttribute("aria-label", "Figures of one moment");
  label.append("Moment ", slider);
  Object.assign(slider, { type: "range", min: 0, max: moments.length - 1, value: 0 });
  // The slider says the same words itself.
  words.setAttribute("aria-live", "off");
  bar.append(label, words);
  document.querySelector("main").append(bar);

  function show(place) {
    const [from, to, text] = moments[place];
    charts.forEach((chart, at) => {
      const { left, right, top, bottom, end } = chart.dataset;
      const x = Number(left) + ((from + to) / 2 / Number(end)) * (Number(right) - Number(left));
      lines[at].setAttribute("d", `M${x.toFixed(1)} ${top}V${bottom}`);
    });
    bar.classList.add("on");
    words.textContent = text;
    slider.setAttribute("aria-valuetext", text);
  }

  function momentAt(chart, clientX) {
    const { left, right, end } = chart.dataset;
    const box = chart.getBoundingClientRect();
    const x = ((clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    const at = ((x - Number(left)) / (Number(right) - Number(left))) * Number(end);
    const found = moments.findIndex(([, to]) => to > at);
    return found < 0 ? moments.length - 1 : found;
  }

  for (const chart of charts) {
    chart.addEventListener("pointermove", (event) => {
      slider.value = momentAt(chart, event.clientX);
      show(slider.valueAsNumber);
    });
  }
  slider.addEventListener("input", () => show(slider.valueAsNumber));
  slider.addEventListener("focus", () => show(slider.valueAsNumber));
  bar.addEventListener("submit", (event) => event.preventDefault());
})();
