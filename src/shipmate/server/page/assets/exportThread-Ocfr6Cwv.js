import{a3 as f,a4 as g,d as r}from"./index-NQfITZNm.js";import"./react-CgBu5lOV.js";const i=500;async function l(e){let t=await r.messages(e,void 0,i);const n=t.messages;for(;t.hasMore&&t.messages[0];)t=await r.messages(e,t.messages[0].id,i),n.unshift(...t.messages);return n}function c(e,t=""){const n=Math.max(2,...[...e.matchAll(/`+/g)].map(a=>a[0].length)),o="`".repeat(n+1);return`${o}${t}
${e.replace(/\n$/,"")}
${o}`}const u=e=>typeof e=="string"?c(e):c(JSON.stringify(e,null,2)??"","json");function $(e){if(e.type==="text")return e.text;if(e.type==="reasoning")return e.text.replace(/^/gm,"> ");if(e.type==="file")return`[${e.filename??e.mediaType}](${e.url.startsWith("data:")?"":e.url})`;if(!f(e))return"";const t=e.state==="output-available"?e.output:e.state==="output-error"?e.errorText:void 0;return[`**${g(e)}**`,u(e.input),...t===void 0?[]:[u(t)]].join(`

`)}function p(e){return e.parts.map($).filter(Boolean).join(`

`)}async function h(e,{title:t,you:n,member:o}){const m=(await l(e)).filter(s=>s.role!=="system"&&s.metadata?.replacedBy===void 0).map(s=>{const d=s.metadata?.timestamp?` · ${s.metadata.timestamp}`:"";return`## ${s.role==="user"?n:o}${d}

${p(s)}`});return`${[`# ${t}`,...m].join(`

`)}
`}async function j(e){return`${JSON.stringify({id:e,messages:await l(e)},null,2)}
`}function k(e,t,n){const o=URL.createObjectURL(new Blob([t],{type:n})),a=document.createElement("a");a.href=o,a.download=e.replace(/[^\p{L}\p{N} ._-]+/gu," ").trim().slice(0,80),a.click(),window.setTimeout(()=>URL.revokeObjectURL(o),6e4)}export{k as download,p as messageMarkdown,j as threadJson,h as threadMarkdown};
