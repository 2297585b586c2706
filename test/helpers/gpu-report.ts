/** Makes the output of `nvidia-smi -q -x`, in the form of drivers from 535 on. */

const HEALTHY_CARD = {
  remapped_row_failure: 'No',
  remapped_row_pending: 'No',
  reset_required: 'No',
  max_link_width: '16x',
  current_link_width: '16x',
  clocks_event_reason_hw_thermal_slowdown: 'Not Active',
  clocks_event_reason_hw_power_brake_slowdown: 'Not Active',
  clocks_event_reason_sw_power_cap: 'Active',
};

/** Returns the part of a card. `values`: tags that differ from those of a healthy card. */
export function card(uuid: string, values: Readonly<Record<string, string>> = {}, bus = '3B'): string {
  const tags = Object.entries({ ...HEALTHY_CARD, ...values }).filter(([tag]) => !/uncorrectable|summary/.test(tag));
  const group = (name: string, member: RegExp): string => {
    const found = Object.entries(values).filter(([tag]) => member.test(tag));
    return `<${name}>${found.map(([tag, value]) => `<${tag}>${value}</${tag}>`).join('')}</${name}>\n`;
  };
  return (
    `<gpu id="00000000:${bus}:00.0">\n<product_name>NVIDIA L4</product_name>\n<uuid>${uuid}</uuid>\n` +
    `<pci_bus_id>00000000:${bus}:00.0</pci_bus_id>\n` +
    tags.map(([tag, value]) => `\t<${tag}>${value}</${tag}>\n`).join('') +
    `<ecc_errors>\n${group('volatile', /uncorrectable/)}` +
    '<aggregate><dram_uncorrectable>7</dram_uncorrectable></aggregate>\n</ecc_errors>\n' +
    `<fabric>\n${group('health', /summary/)}</fabric>\n</gpu>\n`
  );
}

/** Returns the whole report. */
export function report(...cards: string[]): string {
  return `<?xml version="1.0" ?>\n<nvidia_smi_log>\n${cards.join('')}</nvidia_smi_log>\n`;
}
