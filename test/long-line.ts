/** Finds lines of code that are too long. */
import ts from 'typescript-api';

export const LINE_COLUMNS_MAX = 120;
/** Of a line in a text that is no code of ours: a help text, a query of a client, a script. */
const TEXT_COLUMNS_MAX = 160;

/** Returns the number of the first line that is too long; 0 if there is none. */
export function longLine(tree: ts.SourceFile): number {
  const lines = tree.text.split('\n');
  if (lines.every((line) => line.length <= LINE_COLUMNS_MAX)) return 0;
  const texts: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    const isTemplate = ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node);
    // A regular expression cannot be broken. A tagged template is SQL.
    if (ts.isRegularExpressionLiteral(node)) texts.push(node);
    if (isTemplate && !ts.isTaggedTemplateExpression(node.parent) && node.getText().includes('\n')) texts.push(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  const lineOf = (position: number): number => tree.getLineAndCharacterOfPosition(position).line;
  const inText = new Set(
    texts.flatMap((node) => {
      const first = lineOf(node.getStart());
      return Array.from({ length: lineOf(node.end) - first + 1 }, (_, index) => first + index);
    }),
  );
  return lines.findIndex((line, at) => line.length > (inText.has(at) ? TEXT_COLUMNS_MAX : LINE_COLUMNS_MAX)) + 1;
}
