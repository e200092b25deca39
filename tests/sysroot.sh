#!/bin/bash
# Make trees that `gdprobe --sysroot` reads, out of the descriptions in tests/data/sysroot:
# out/sysroot/NAME from NAME.txt. Configuration spaces are written byte by byte, so that a verdict
# is a verdict on bytes.
#
#   tests/sysroot.sh NAME...
#
# A description has lines (# starts a comment; a later line about the same thing wins):
#   include NAME                       everything of another description
#   dev BUSID key=value...             a PCI function
#     under=BUSID                      the bridge above; none: below the root complex of its bus
#     class=030200 id=10de:20b2 driver=nvidia numa=0
#     port=root|up|down                default: an endpoint; conventional: no PCI Express
#     link=16.0x8/16.0x16              GT/s and lanes, as trained / as this end could; "none"
#     acs=SV+RR ats=on mps=256 mrrs=512 ro=on      acs=none: no such capability
#     bar1=131072                      MiB of the large prefetchable BAR
#     group=12:DMA                     IOMMU group and its type
#     config=4096|256|64|none          how much of the configuration space is to be seen
#   gone BUSID                         take a function out again
#   file PATH TEXT                     a file; \n and \t mean what they do in printf
#   drop PATH                          take a file out again
#   link PATH TARGET                   a symbolic link
#   rdma NAME BUSID STATE RATE         an RDMA device with one port ("4:_ACTIVE", blanks as _)
#   net NAME BUSID MBPS up|down        a network interface
#   nvme NAME BUSID                    a drive
set -u
cd "$(dirname "$0")/.." || exit 1
declare -A attributes files links
declare -a order
zeros=$(printf '\\0%.0s' {1..3760}) # 4096 - 0x150

fail() { echo "$1" >&2; exit 1; }

read_description() { # NAME
    local word rest busid pair
    while read -r word rest; do
        case $word in
        '' | '#'*) ;;
        include) read_description "$rest" ;;
        dev)
            busid=${rest%% *}
            [ -n "${attributes[$busid]+x}" ] || order+=("$busid")
            attributes[$busid]="${attributes[$busid]-} ${rest#"$busid"}"
            ;;
        gone) unset "attributes[$rest]" ;;
        file) files[${rest%% *}]=${rest#* } ;;
        drop) unset "files[$rest]" ;;
        link) links[${rest%% *}]=${rest#* } ;;
        rdma)
            read -r name busid state rate <<<"$rest"
            links[/sys/class/infiniband/$name/device]=@$busid
            files[/sys/class/infiniband/$name/fw_ver]='28.39.1002'
            files[/sys/class/infiniband/$name/ports/1/state]=${state//_/ }
            files[/sys/class/infiniband/$name/ports/1/rate]=${rate//_/ }
            files[/sys/class/infiniband/$name/ports/1/link_layer]=InfiniBand
            ;;
        net)
            read -r name busid mbps state <<<"$rest"
            links[/sys/class/net/$name/device]=@$busid
            files[/sys/class/net/$name/speed]=$mbps
            files[/sys/class/net/$name/operstate]=$state
            ;;
        nvme)
            read -r name busid <<<"$rest"
            links[/sys/class/nvme/$name/device]=@$busid
            files[/sys/class/nvme/$name/model]='Test Drive 3.84TB'
            files[/sys/class/nvme/$name/transport]=pcie
            ;;
        *) fail "$1: what is \"$word\"?" ;;
        esac
    done <"tests/data/sysroot/$1.txt"
}

put() { # PATH TEXT: without a fork where the directory is there
    local at=$root$1
    [ -d "${at%/*}" ] || mkdir -p "${at%/*}"
    printf '%b\n' "$2" >"$at"
}

# Bytes at an offset of the configuration space, least first.
poke() { # OFFSET SIZE VALUE
    local i
    for ((i = 0; i < $2; i++)); do
        printf -v "bytes[$(($1 + i))]" '\\x%02x' $(($3 >> (8 * i) & 255))
    done
}

code_of() { # BYTES VARIABLE: 128 << code
    local code=0
    while [ $((128 << code)) -lt "$1" ]; do code=$((code + 1)); done
    printf -v "$2" %d $code
}

write_config() { # DIRECTORY
    local bits=0 name i
    local -a bytes
    for ((i = 0; i < 0x150; i++)); do bytes[i]='\x00'; done
    poke 0x00 2 "0x${of[id]%:*}"
    poke 0x02 2 "0x${of[id]#*:}"
    poke 0x06 2 0x10
    poke 0x09 3 "0x${of[class]}"
    [ "${of[class]}" != 060400 ] || poke 0x0E 1 1
    poke 0x34 1 0x40
    case ${of[port]} in
    conventional) poke 0x06 2 0 ;;
    root) poke 0x40 4 0x00420010 ;;
    up) poke 0x40 4 0x00520010 ;;
    down) poke 0x40 4 0x00620010 ;;
    *) poke 0x40 4 0x00020010 ;;
    esac
    local control=$((of_mps << 5 | of_mrrs << 12))
    [ "${of[ro]}" != on ] || control=$((control | 0x10))
    poke 0x48 2 $control
    # ATS at 0x100 for endpoints, ACS at 0x140 for ports; each leads to the other.
    poke 0x100 4 0x1401000F
    [ "${of[ats]}" != on ] || poke 0x106 2 0x8000
    if [ "${of[acs]}" != none ]; then
        for name in ${of[acs]//+/ }; do
            case $name in
            SV) bits=$((bits | 1)) ;; TB) bits=$((bits | 2)) ;; RR) bits=$((bits | 4)) ;;
            CR) bits=$((bits | 8)) ;; UF) bits=$((bits | 16)) ;; EC) bits=$((bits | 32)) ;;
            DT) bits=$((bits | 64)) ;; off) ;; *) fail "no ACS bit $name" ;;
            esac
        done
        poke 0x140 4 0x0001000D
        poke 0x146 2 $bits
    fi
    case ${of[config]} in
    none) return ;;
    64) bytes=("${bytes[@]:0:64}") ;;
    256) bytes=("${bytes[@]:0:256}") ;;
    *) bytes+=("$zeros") ;;
    esac
    local IFS=
    printf '%b' "${bytes[*]}" >"$1/config"
}

write_device() { # BUSID
    local -A of=([id]=0000:0000 [class]=000000 [port]=end [link]=none [acs]=none [ats]=off [mps]=256
                 [mrrs]=512 [ro]=on [config]=4096 [under]='' [numa]=-1 [bar1]='' [group]='' [driver]='')
    local pair path at of_mps of_mrrs
    for pair in ${attributes[$1]}; do of[${pair%%=*}]=${pair#*=}; done
    code_of "${of[mps]}" of_mps
    code_of "${of[mrrs]}" of_mrrs
    if [ -n "${of[under]}" ]; then path=${place[${of[under]}]}/$1; else path=/sys/devices/pci${1%:*}/$1; fi
    place[$1]=$path
    at=$root$path
    mkdir -p "$at"
    ln -s "../../..${path#/sys}" "$root/sys/bus/pci/devices/$1"
    put "$path/class" "0x${of[class]}"
    put "$path/vendor" "0x${of[id]%:*}"
    put "$path/device" "0x${of[id]#*:}"
    put "$path/numa_node" "${of[numa]}"
    if [ "${of[link]}" != none ]; then
        put_link "$path/current_link" "${of[link]%/*}"
        put_link "$path/max_link" "${of[link]#*/}"
    fi
    local none='0x0000000000000000 0x0000000000000000 0x0000000000000000'
    local window=$none
    [ -z "${of[bar1]}" ] ||
        printf -v window '0x%016x 0x%016x 0x000000000014220c' $((1 << 44)) $(((1 << 44) + (of[bar1] << 20) - 1))
    put "$path/resource" "0x00000000b0000000 0x00000000b0ffffff 0x0000000000040200\n$none\n$window\n$none\n$none\n$none"
    if [ -n "${of[group]}" ]; then
        ln -s "/sys/kernel/iommu_groups/${of[group]%:*}" "$at/iommu_group"
        put "/sys/kernel/iommu_groups/${of[group]%:*}/type" "${of[group]#*:}"
    fi
    [ -z "${of[driver]}" ] || ln -s "/sys/bus/pci/drivers/${of[driver]}" "$at/driver"
    write_config "$at"
}
put_link() { # PATH SPEEDxWIDTH
    local speed="${2%x*} GT/s PCIe"
    [ "${2%x*}" != unknown ] || speed=Unknown
    put "$1_speed" "$speed"
    put "$1_width" "${2#*x}"
}

for name in "$@"; do
    attributes=() files=() links=() order=()
    declare -A place=()
    root=out/sysroot/$name
    read_description "$name"
    rm -rf "$root"
    mkdir -p "$root/sys/bus/pci/devices" "$root/sys/class/iommu" "$root/sys/class/net" "$root/sys/class/nvme"
    for busid in "${order[@]}"; do
        [ -z "${attributes[$busid]+x}" ] || write_device "$busid"
    done
    for path in "${!files[@]}"; do put "$path" "${files[$path]}"; done
    for path in "${!links[@]}"; do
        target=${links[$path]}
        case $target in @*) target=${place[${target#@}]} ;; esac
        mkdir -p "$root${path%/*}"
        ln -s "$target" "$root$path"
    done
done
