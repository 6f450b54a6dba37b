import type { FileUIPart } from "ai";
import { useState } from "react";
import { useT } from "../i18n";
import { Icon } from "../ui/Icon";
import { Modal } from "../ui/Modal";

/** A file of a message: a picture that opens large, sound that plays, anything else by its name. */
export function FileView({ file }: { file: FileUIPart }) {
  const t = useT();
  const [isBroken, setBroken] = useState(false);
  const [isLarge, setLarge] = useState(false);
  const isOurs = /^(\/api\/files\/|data:|blob:)/.test(file.url);
  const name = file.filename ?? file.mediaType;
  const isShown = isOurs && !isBroken;
  if (isShown && file.mediaType.startsWith("image/")) {
    return (
      <figure className="shown-file">
        <button type="button" aria-label={t("picture.open", { name })} onClick={() => setLarge(true)}>
          <img className="picture" src={file.url} alt={name} loading="lazy" onError={() => setBroken(true)} />
        </button>
        <figcaption className="faint truncate">{name}</figcaption>
        {isLarge && (
          <Modal title={name} onClose={() => setLarge(false)} wide>
            <img className="large-picture" src={file.url} alt={name} />
            <div className="modal-actions">
              <a className="button" href={file.url} download={name}>
                {t("download")}
              </a>
            </div>
          </Modal>
        )}
      </figure>
    );
  }
  if (isShown && file.mediaType.startsWith("audio/")) {
    return (
      <figure className="shown-file">
        <audio className="sound" controls src={file.url} aria-label={name} onError={() => setBroken(true)} />
        <figcaption className="faint truncate">{name}</figcaption>
      </figure>
    );
  }
  return (
    <a className="file-chip" href={isOurs ? file.url : undefined} download={name} title={t("download")}>
      <Icon name="file" tiny />
      <span className="truncate">{name}</span>
    </a>
  );
}
