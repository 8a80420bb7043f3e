# Reads one line "<process id> <start time>" for each started process group, and kills them all when its input ends: also
# when the program at the other end was killed. A line "leave" makes it exit instead. A process id that another program
# has got meanwhile has another start time (field 22 of /proc/<id>/stat).
# $1: the directory of data to remove after that.
started=""
while read -r process time; do
    [ "$process" = leave ] && exit 0
    started="$started $process:$time"
done
for entry in $started; do
    process=${entry%%:*}
    read -r status 2>/dev/null <"/proc/$process/stat" || continue
    set -- "$1" ${status##*) }
    [ "${21}" = "${entry#*:}" ] && kill -s KILL -- "-$process"
done
rm -rf "$1"
