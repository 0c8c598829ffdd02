#!/bin/sh
# Makes the users of a store of one's own, and what they log in with:
#
#   sh deploy/valkey/users.sh DIRECTORY ADDRESS
#
# ADDRESS is the store's, with %s where user and password stand: redis://%s@valkey:6379/0. Passwords are made once and stay;
# what may be done with them is written anew, of the users.acl beside this file. In DIRECTORY, which only its owner enters:
#
#   users.acl       for the store: who may do what, with the passwords' hashes
#   aggregator.url  for deniable serve (DENIABLE_SERVE_REDIS)
#   operator.url    for deniable doubt --redis
set -eu
usage="usage: sh $0 DIRECTORY ADDRESS, such as: sh $0 secrets redis://%s@valkey:6379/0"
[ $# = 2 ] || { echo "$usage" >&2; exit 2; }
case $2 in *://%s@*) ;; *) echo "$2: %s@ stands before the host, for user and password. $usage" >&2; exit 2 ;; esac
rules=$(cat "$(dirname "$0")/users.acl")
mkdir -p -m 700 "$1"
chmod 700 "$1"  # it may have been there
cd "$1"
for user in aggregator operator; do
  if [ ! -s $user.url ]; then
    password=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
    printf %s "${2%%%s@*}$user:$password@${2#*%s@}" > $user.url
  fi
  hash=$(sed 's|^[^:]*://[^:]*:\([0-9a-f]*\)@.*|\1|' $user.url | tr -d '\n' | sha256sum | cut -d ' ' -f 1)
  rules=$(echo "$rules" | sed "s/^user $user reset on /&#$hash /")
done
echo "$rules" > users.acl
chmod 644 users.acl ./*.url  # containers read them as users of their own; nobody else enters the directory
