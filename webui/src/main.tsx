import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { applyTheme } from "./app/theme";
import { go } from "./app/route";
import { language, loadLanguage } from "./i18n";
import "./style/tokens.css";
import "./style/base.css";
import "./style/control.css";
import "./style/feedback.css";
import "./style/side.css";
import "./style/shell.css";
import "./style/modal.css";
import "./style/prose.css";
import "./style/chat.css";
import "./style/tool.css";
import "./style/prompt.css";
import "./style/crew.css";
import "./style/home.css";
import "./style/page.css";
import "./style/plot.css";

applyTheme();
document.documentElement.lang = language.get() === "zh" ? "zh-CN" : "en";

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root element");
const show = () => createRoot(root).render(<App />);
void loadLanguage(language.get()).then(show, show);

// It keeps the page for the time the server is away, and shows notifications on telephones.
if ("serviceWorker" in navigator) {
  void navigator.serviceWorker.register("/sw.js").catch(() => undefined);
  navigator.serviceWorker.addEventListener("message", (event: MessageEvent<{ show?: string }>) => {
    if (event.data.show === "approvals") go("approvals");
  });
}
