// Forms that the bot answers a press with: the newer Label form, and the older rows of text inputs.

import { optionsOf } from "./components.js";
import { h, refill } from "./dom.js";
import { handIn } from "./interactions.js";
import { rich } from "./richtext.js";
import { openSheet } from "./sheet.js";
import { on } from "./store.js";

let serial = 0;

/** Opens forms as they come. */
export function startModal() {
  on("form", openForm);
}

function openForm(form) {
  const fields = []; // { id, value(), problem(), focus() }
  const parts = (form.components ?? []).flatMap((part) => draw(part, fields));
  const error = h("p", { class: "failure", role: "alert", hidden: true });
  const cancel = h("button", { type: "button", class: "button secondary", data: { testid: "modal-cancel" }, on: { click: () => dialog.shut() } }, "Cancel");
  const submit = h("button", { type: "submit", class: "button primary", data: { testid: "modal-submit" } }, "Submit");
  let pending = false;
  const body = h("form", { class: "form", novalidate: true, on: { submit: hand } }, parts, error, h("div", { class: "form-foot" }, cancel, submit));
  const dialog = openSheet({ title: form.title || "Form", body: [body], kind: "form-sheet", mayClose: () => !pending });
  dialog.dataset.customId = form.custom_id ?? "";
  fields[0]?.focus();

  async function hand(event) {
    event.preventDefault();
    if (pending) return;
    const wrong = fields.filter((field) => field.check());
    if (wrong.length > 0) {
      wrong[0].focus();
      return;
    }
    setPending(true);
    error.hidden = true;
    const values = Object.fromEntries(fields.map((field) => [field.id, field.value()]));
    const failure = await handIn(form.interaction_id, values);
    setPending(false);
    if (failure === null) {
      dialog.shut();
      return;
    }
    error.textContent = `${failure.replace(/\.?$/, ".")} Your words are still here: try again, or cancel.`;
    error.hidden = false;
    submit.focus();
  }
  function setPending(yes) {
    pending = yes;
    submit.disabled = yes;
    cancel.disabled = yes;
    submit.classList.toggle("pending", yes);
    refill(submit, yes ? ["Sending", h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i"))] : ["Submit"]);
  }
}

function draw(part, fields) {
  switch (part?.type) {
    case 1: return (part.components ?? []).map((inner) => field(inner, { label: inner.label }, fields));
    case 18: return [field(part.component ?? {}, part, fields)];
    case 10: return [h("div", { class: "form-text" }, rich(part.content))];
    default: return [unknown(part)];
  }
}

const unknown = (part) => h("p", { class: "unknown", role: "note", text: `A part of kind ${String(part?.type)} that this page cannot show.` });

function field(input, { label, description }, fields) {
  const id = `field-${(serial += 1)}`;
  const required = input.required ?? true;
  const problem = h("p", { class: "failure", id: `${id}-problem`, hidden: true });
  const control = make(input, id, label);
  if (!control) return unknown(input);
  const named = control.node.matches("fieldset, div") ? "span" : "label";
  const note = description ? h("p", { class: "field-note", id: `${id}-note`, text: description }) : null;
  control.node.setAttribute("aria-describedby", [note?.id, problem.id].filter(Boolean).join(" "));
  fields.push({
    id: input.custom_id,
    value: control.value,
    focus: control.focus,
    check: () => {
      const text = complaint(input, required, control.value());
      problem.textContent = text ?? "";
      problem.hidden = !text;
      control.node.toggleAttribute("aria-invalid", Boolean(text));
      return Boolean(text);
    },
  });
  return h("div", { class: "field" },
    h(named, { class: "field-label", for: named === "label" ? id : null }, label ?? "", required ? h("span", { class: "required", title: "Required", "aria-hidden": "true", text: " *" }) : null),
    note, control.node, control.extra ?? null, problem);
}

function complaint(input, required, value) {
  const length = [...value].length;
  if (required && value.trim() === "") return "This field is required.";
  if (length > 0 && input.min_length && length < input.min_length) return `At least ${input.min_length} characters are needed.`;
  if (input.max_length && length > input.max_length) return `At most ${input.max_length} characters fit.`;
  return null;
}

function make(input, id, label) {
  if (input.type === 4) return textInput(input, id);
  if ([3, 5, 6, 7, 8].includes(input.type)) return choice(input, id);
  if (input.type === 21) return radios(input, id, label);
  if (input.type === 23) return tickBox(input, id);
  return null;
}

function textInput(input, id) {
  const long = input.style === 2;
  const max = input.max_length ?? 4000;
  const node = h(long ? "textarea" : "input", {
    id, class: "field-input", type: long ? null : "text", rows: long ? "5" : null, maxlength: max, placeholder: input.placeholder,
    autocomplete: "off", "aria-required": String(input.required ?? true), data: { customId: input.custom_id }, value: input.value ?? "",
  });
  const left = h("span", { class: "field-count", "aria-hidden": "true" });
  const show = () => (left.textContent = `${[...node.value].length} / ${max}`);
  node.addEventListener("input", show);
  // Enter in a paragraph makes a line; with Ctrl or Cmd it hands the form in.
  node.addEventListener("keydown", (event) => long && event.key === "Enter" && (event.ctrlKey || event.metaKey) && node.form.requestSubmit());
  show();
  return { node, extra: left, value: () => node.value, focus: () => node.focus() };
}

// Text is all that the control API takes from a form, so a choice gives its first value.
function choice(input, id) {
  const options = optionsOf(input);
  const node = h("select", { id, class: "field-input", data: { customId: input.custom_id } },
    h("option", { value: "", text: input.placeholder || "Make a selection" }),
    options.map((option) => h("option", { value: option.value, selected: option.on || false, text: option.label })));
  return { node, value: () => node.value, focus: () => node.focus() };
}

function radios(input, id, label) {
  const buttons = (input.options ?? []).map((option) => h("input", { type: "radio", name: id, value: option.value, checked: option.default || false }));
  const node = h("div", { id, role: "radiogroup", "aria-label": label, class: "field-choices" }, buttons.map((one, index) =>
    h("label", { class: "field-choice" }, one, h("span", { text: input.options[index].label }))));
  return { node, value: () => buttons.find((one) => one.checked)?.value ?? "", focus: () => buttons[0]?.focus() };
}

function tickBox(input, id) {
  const box = h("input", { type: "checkbox", id: `${id}-box`, checked: input.default || false });
  const node = h("div", { id, class: "field-choices" }, h("label", { class: "field-choice" }, box, h("span", { text: input.label ?? "Yes" })));
  return { node, value: () => String(box.checked), focus: () => box.focus() };
}
