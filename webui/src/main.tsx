import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { applyTheme } from "./app/theme";
import { language } from "./i18n";
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
import "./style/home.css";
import "./style/page.css";
import "./style/plot.css";

applyTheme();
document.documentElement.lang = language.get() === "zh" ? "zh-CN" : "en";

const root = document.getElementById("root");
if (!root) throw new Error("the page has no root element");
createRoot(root).render(<App />);
