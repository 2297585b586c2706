/** The scripts of shells. Each asks `slipway completion words`, and completes files where that knows nothing. */

const BASH = `# bash completion of slipway
_slipway() {
  local line word
  COMPREPLY=()
  while IFS= read -r line; do
    word=\${line%%$'\\t'*}
    COMPREPLY+=("$(printf '%q' "$word")")
  done < <("\${COMP_WORDS[0]}" completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _slipway slipway
`;

const ZSH = `#compdef slipway
_slipway() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <("\${words[1]}" completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe slipway found; else _files; fi
}
# As an autoloaded function this file is run by the first completion, and else by "source".
if [[ $funcstack[1] == _slipway ]]; then _slipway "$@"; else compdef _slipway slipway; fi
`;

const FISH = `# fish completion of slipway
function __slipway
  set -l words (commandline -opc)
  set -l found ($words[1] completion words -- $words[2..-1] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c slipway -f -a '(__slipway)'
`;

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
