/** A number that may be left out. */
export function Numeric({
  id,
  label,
  value,
  onChange,
}: {
  id: string;
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="number"
        step="any"
        min={0}
        placeholder="the worker’s default"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  );
}
