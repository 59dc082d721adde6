// Clips play while they are seen, unless less motion is wished for; commands are copied by a button.
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) target.pause();
    else if (!calm) target.play().catch(() => {});
  }
}, { threshold: 0.4 });
document.querySelectorAll("video").forEach((clip) => seen.observe(clip));
document.querySelectorAll(".command button").forEach((button) => {
  button.addEventListener("click", async () => {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
});
