// Keeps the token that controls in this tab, and writes it into the forms. It arrives behind the `#` of the address, which no
// browser sends, and leaves the address at once.
//
// Without this script the token is typed. Starts nothing.
(() => {
  const given = new URLSearchParams(location.hash.slice(1)).get("control");
  if (given) sessionStorage.setItem("control", given);
  const start = document.querySelector("a[data-next]");
  if (start) {
    location.replace(start.href);
    return;
  }
  const control = sessionStorage.getItem("control");
  if (!control) return;
  for (const field of document.querySelectorAll("input[name=control]")) field.value = control;
  for (const typed of document.querySelectorAll(".token")) typed.hidden = true;
})();
