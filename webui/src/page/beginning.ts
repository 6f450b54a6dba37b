import { api } from "../api/api";
import { refreshThreads } from "../api/threads";
import { go } from "../app/route";
import { sayError } from "../ui/toast";

/** Begins a dialog with a script, its messages shown, and goes there. */
export async function beginWith(scriptRef: string, member: string): Promise<void> {
  try {
    const made = await api.createThread({ member, priming: { scriptRefs: [scriptRef], showInUi: true } });
    await refreshThreads();
    go("t", made.threadId);
  } catch (error) {
    sayError(error);
  }
}
